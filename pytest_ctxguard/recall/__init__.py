"""Did the model answer it: probes asked, outcomes judged, controls beside them."""
