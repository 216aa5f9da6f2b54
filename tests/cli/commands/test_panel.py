"""panel, and import with a panel."""

import json

import xarray as xr


def test_panel__is_written_to_be_edited(run, tmp_path, shared_data):
    file = shared_data / "mouse_spleen" / "68983.fcs"
    out = tmp_path / "panel.csv"
    result = run("panel", file, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert f"panel      {out}: 18 channels of 1 file" in result.stdout
    assert "viability: l/d" in result.stdout
    assert "no marker  Qdot 605-A;" in result.stdout
    lines = out.read_text().splitlines()
    assert lines[0] == "channel,marker,role"
    assert "AmCyan-A,l/d,viability" in lines
    again = run("panel", file, "--out", out)
    assert again.exit_code == 1
    assert "--overwrite" in again.stderr
    facts = json.loads(run("panel", file, "--out", out, "--overwrite", "--json").stdout)
    assert facts["channels"][0] == {
        "channel": "Time",
        "marker": "",
        "role": "time",
        "reason": "time",
    }


def test_panel__never_replaces_what_it_reads(run, shared_data):
    file = shared_data / "mouse_spleen" / "68983.fcs"
    assert run("panel", file, "--out", file, "--overwrite").exit_code == 2


def test_import__with_a_panel_and_what_plan_says_of_it(run, tmp_path, shared_data):
    folder, store = shared_data / "activation", tmp_path / "cells.zarr"
    given = ("--panel", folder / "panel.csv", "--out", store)
    result = run("import", folder / "Activation_1.fcs", *given)
    assert result.exit_code == 0, result.stderr
    assert "features   CD8, Va2, CD69, CD44, CD4, CD11c\n" in result.stdout
    assert "viability: Hoechst-405, Hoechst-430" in result.stdout
    with xr.open_zarr(store) as cells:
        assert cells["X"].sel(feature="CD69")["channel"].compute().item() == "7-AAD-A"
    plan = run("plan", store, "-k", 3)
    assert "50,000 rows x 6 features" in plan.stdout
    assert "; time: Time\n" in plan.stdout
    facts = json.loads(run("plan", store, "-k", 3, "--json").stdout)
    assert facts["left_out"]["viability"] == ["Hoechst-405", "Hoechst-430"]
    views = (tmp_path / "cells.views.toml").read_text()
    assert "# Left out (viability):" in views


def test_import__shows_every_bad_file_in_a_line(run, tmp_path, shared_data):
    result = run("import", shared_data / "fcs_zoo", "--out", tmp_path / "cells.zarr")
    assert result.exit_code == 1
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 7
    assert "$P1B=24" in next(line for line in lines if "Cytek" in line)
    assert any("choose with --offsets header or text" in line for line in lines)
    assert lines[-1].startswith("error: 6 of 14 files")
    assert not (tmp_path / "cells.zarr").exists()


def test_import__refuses_a_panel_in_the_words_of_the_option(run, tmp_path, shared_data):
    panel = tmp_path / "panel.csv"
    panel.write_text("channel,marker,role\nPE-B,CD3,use\n")
    file = shared_data / "activation" / "Activation_1.fcs"
    result = run("import", file, "--panel", panel, "--out", tmp_path / "cells.zarr")
    assert result.exit_code == 1
    assert "'PE-B' (is it 'PE-A'?)" in result.stderr
