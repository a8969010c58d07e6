"""From a file to text: sniffing, page verdicts, OCR in a limited child process."""
