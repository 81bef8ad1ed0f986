/** What the response of clamd says of a file. */
export type ScanVerdict = 'clean' | 'infected' | 'none'

const FOUND = /^stream: (.+) FOUND$/
/** clamd reports a file that it could not scan completely (`AlertExceedsMax`) like a virus of this name. */
const LIMIT_HIT = /^Heuristics\.Limits\.Exceeded/

/**
 * Reads a response of clamd. Only exactly `stream: OK` is clean, and only after all bytes were sent (F5). A limit of size or
 * nesting that was hit, an error, and everything else mean that the file was not scanned.
 */
export function toScanVerdict(text: string, is_early: boolean): ScanVerdict {
  if (text === 'stream: OK') return is_early ? 'none' : 'clean'
  const [, name] = FOUND.exec(text) ?? []
  return name === undefined || LIMIT_HIT.test(name) ? 'none' : 'infected'
}
