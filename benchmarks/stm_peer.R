# Fits R's stm to what a folder holds:
# Rscript stm_peer.R FOLDER DOCUMENTS NEW_DOCUMENTS COVARIATES WORDS TOPICS
#
# Prints the processor seconds of the fit. Writes topics, weights, and weights of new documents.
suppressPackageStartupMessages(library(stm))
arguments <- commandArgs(TRUE)
size <- as.integer(arguments[2:6])
numbers <- function(name, kind, n) {
  readBin(file.path(arguments[1], name), kind, n = n, size = if (kind == "integer") 4 else 8)
}
read_documents <- function(name, n) {
  starts <- numbers(paste0(name, "_starts"), "integer", n + 1)
  words <- numbers(paste0(name, "_words"), "integer", starts[n + 1])
  counts <- numbers(paste0(name, "_counts"), "integer", starts[n + 1])
  lapply(seq_len(n), function(d) {
    rows <- seq_len(starts[d + 1] - starts[d]) + starts[d]
    rbind(words[rows], counts[rows])
  })
}
read_columns <- function(name, n) {
  values <- numbers(paste0(name, "_columns"), "double", n * size[3])
  as.data.frame(matrix(values, n, size[3]))
}
documents <- read_documents("fitted", size[1])
table <- read_columns("fitted", size[1])
formula <- as.formula(paste("~", paste(names(table), collapse = " + ")))
vocabulary <- paste0("w", seq_len(size[4]))
taken <- system.time(
  fit <- stm(documents, vocabulary, size[5],
    prevalence = formula, data = table, init.type = "Spectral", seed = 1, verbose = FALSE
  )
)
cat(taken[["user.self"]] + taken[["sys.self"]], "\n")
new <- fitNewDocuments(fit, read_documents("new", size[2]),
  newData = read_columns("new", size[2]), origData = table, prevalence = formula,
  prevalencePrior = "Covariate", verbose = FALSE
)
write_table <- function(table, name) {
  writeBin(as.double(table), file.path(arguments[1], name))
}
write_table(t(exp(fit$beta$logbeta[[1]])), "topics")
write_table(fit$theta, "weights")
write_table(new$theta, "new_weights")
