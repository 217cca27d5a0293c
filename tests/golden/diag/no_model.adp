# nothing
adept 1
const a = 1
#| no_model.adp: error: the file has no model
