#include "runtime/result.h"

const char *adept_result_string(AdeptResult result) {
    switch (result) {
#define ADEPT_RESULT_TEXT(name, code, text)                                                        \
    case name: return text;
        ADEPT_RESULTS(ADEPT_RESULT_TEXT)
#undef ADEPT_RESULT_TEXT
    }
    return "unknown result";
}
