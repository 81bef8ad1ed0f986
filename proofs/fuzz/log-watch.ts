/** Checks every log line of the system for forbidden texts. */
export interface LogWatch {
  read(chunk: string): void
  readonly lines: () => number
  /** What was wrong. The forbidden text itself is not repeated. */
  readonly findings: readonly string[]
}

const FINDINGS_MAX = 20

/** What a merchant calls its payment: a fuzzed request may call it by any text, and the operator finds the payment by it. */
const REFERENCES = /"[ch]_id":"[\w.:/#-]{1,63}"/g

/** Makes a watch for texts that must not be logged, each with the name by which it is reported. */
export function createLogWatch(forbidden: ReadonlyMap<string, string>): LogWatch {
  const findings: string[] = []
  let lines = 0
  let begun = ''
  const report = (finding: string): void => {
    if (findings.length < FINDINGS_MAX) findings.push(finding)
  }
  const check = (line: string): void => {
    lines += 1
    const rest = line.replaceAll(REFERENCES, '')
    for (const [text, name] of forbidden) {
      if (rest.includes(text)) report(`${name} was logged: ${line.replaceAll(text, '***')}`)
    }
    if (!isLogLine(line)) report(`not a log line: ${line}`)
  }
  return {
    findings,
    lines: () => lines,
    read(chunk) {
      const parts = (begun + chunk).split('\n')
      begun = parts.pop() ?? ''
      for (const line of parts) check(line)
    },
  }
}

/** A line is one JSON object with a level and a message, so no request can split a line. */
function isLogLine(line: string): boolean {
  try {
    const { level, message } = JSON.parse(line)
    return typeof level === 'string' && typeof message === 'string'
  } catch {
    return false
  }
}
