# Fits fastTopics to what a folder holds: Rscript fasttopics_peer.R FOLDER SECONDS
#
# Prints a line after each round of updates: processor seconds so far, the log-likelihood.
suppressPackageStartupMessages({
  library(Matrix)
  library(fastTopics)
})
arguments <- commandArgs(TRUE)
limit <- as.numeric(arguments[2])
numbers <- function(name, kind, n) {
  readBin(file.path(arguments[1], name), kind, n = n, size = if (kind == "integer") 4 else 8)
}
size <- numbers("size", "integer", 4) # samples, features, components, nonzeros
X <- new("dgCMatrix",
  Dim = size[1:2], p = numbers("starts", "integer", size[2] + 1),
  i = numbers("rows", "integer", size[4]), x = numbers("values", "double", size[4])
)
weights <- matrix(numbers("weights", "double", size[1] * size[3]), size[1], size[3])
topics <- matrix(numbers("topics", "double", size[2] * size[3]), size[2], size[3])
fit <- init_poisson_nmf(X, L = weights, F = topics, verbose = "none")
control <- list(extrapolate = TRUE, numiter = 4, nc = 1)
used <- 0
while (used < limit) {
  began <- proc.time()
  fit <- fit_poisson_nmf(X,
    fit0 = fit, numiter = 2, method = "scd", control = control, verbose = "none"
  )
  taken <- proc.time() - began
  used <- used + taken[["user.self"]] + taken[["sys.self"]]
  cat(sprintf("%.4f %.4f\n", used, fit$progress$loglik[nrow(fit$progress)]))
}
