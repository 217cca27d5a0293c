// SPIR-V numbers that Debian 12's SPIRV-Headers (1.3.239) lack: SPV_KHR_cooperative_matrix and
// SPV_KHR_bfloat16. Values from the SPIR-V registry.
#pragma once

enum {
    SPV_NEW_OpTypeCooperativeMatrixKHR = 4456,
    SPV_NEW_OpCooperativeMatrixLoadKHR = 4457,
    SPV_NEW_OpCooperativeMatrixStoreKHR = 4458,
    SPV_NEW_OpCooperativeMatrixMulAddKHR = 4459,
    SPV_NEW_OpCooperativeMatrixLengthKHR = 4460,
    SPV_NEW_CapabilityCooperativeMatrixKHR = 6022,
    SPV_NEW_CapabilityBFloat16TypeKHR = 5116,
    SPV_NEW_CapabilityBFloat16CooperativeMatrixKHR = 5118,
    SPV_NEW_FPEncodingBFloat16KHR = 0,
    SPV_NEW_CooperativeMatrixMatrixASigned = 1,
    SPV_NEW_CooperativeMatrixMatrixBSigned = 2,
    SPV_NEW_CooperativeMatrixMatrixCSigned = 4,
    SPV_NEW_CooperativeMatrixMatrixResultSigned = 8
};
