"""report: comparison of samples with further conditions."""


def test_report__adjusts_for_numbered_batches(run, cells, model, tmp_path, undrawn):
    lines = ["sample1,a,1", "sample2,b,1", "sample3,a,2", "sample4,b,2"]
    (tmp_path / "samples.csv").write_text("\n".join(["sample,arm,batch", *lines]) + "\n")
    out = tmp_path / "report.html"
    result = run(
        *("report", model, "--data", cells, "--metadata", tmp_path / "samples.csv", "--by", "arm"),
        *("--adjust", "batch", "--groups", "batch", "--out", out),
    )
    assert result.exit_code == 0, result.stderr
    assert "(a: 2, b: 2), adjusted for batch" in out.read_text()
