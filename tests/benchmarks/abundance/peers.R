# p values of edgeR (as diffcyt uses it, and by quasi-likelihood) and of a binomial mixed model with
# an effect of every sample (lme4, Wald), of the studies in a CSV file
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages({ library(edgeR); library(lme4) })
studies <- read.csv(arguments[1])
mixed <- arguments[3] == "mixed"
columns <- grep("^population", names(studies))
result <- list()
for (study in split(studies, studies$study)) {
  counts <- t(as.matrix(study[, columns]))
  design <- model.matrix(~ covariate, study)
  # estimateDisp leaves out populations of fewer than five cells in all samples, and then fails
  present <- rowSums(counts) >= 5
  tables <- DGEList(counts[present, ], lib.size = colSums(counts))
  tables <- estimateDisp(tables, design, trend.method = "none")
  fit <- glmLRT(glmFit(tables, design), coef = 2)
  quasi <- glmQLFTest(glmQLFit(tables, design), coef = 2)
  p <- data.frame(
    study = study$study[1], population = seq_along(columns) - 1,
    edger = NA, edger_quasi = NA
  )
  p$edger[present] <- fit$table$PValue
  p$edger_quasi[present] <- quasi$table$PValue
  if (mixed) {
    total <- colSums(counts)
    sample <- factor(seq_along(total))
    p$mixed <- sapply(seq_along(columns), function(row) tryCatch(
      suppressMessages(suppressWarnings(
        coef(summary(glmer(cbind(counts[row, ], total - counts[row, ]) ~ study$covariate +
          (1 | sample), family = binomial)))[2, 4]
      )),
      error = function(problem) NA
    ))
  }
  result[[length(result) + 1]] <- p
}
write.csv(do.call(rbind, result), arguments[2], row.names = FALSE)
