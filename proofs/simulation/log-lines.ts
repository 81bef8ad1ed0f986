import { useLineWriter } from '#lib/telemetry/writer.ts'

let onLine: (line: string) => void = () => {}

// Before the first log is made: every log of this process writes here.
useLineWriter({ write: (line) => onLine(line), takes_every_line: true })

/** Passes every line of the log to a function. */
export function watchLog(listener: (line: string) => void): void {
  onLine = listener
}

/** Faults of the program. Everything else in the log may be the result of a simulated fault. */
const FAULTS = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'CorruptJournal']

/** What a line says about a fault of the program; `undefined` when it says nothing. */
export function faultIn(line: string): string | undefined {
  const { message, error } = JSON.parse(line)
  for (let fault = error; fault !== undefined; fault = fault.cause) {
    if (FAULTS.includes(fault.type)) return `${message}: ${fault.stack ?? fault.message}`
  }
  return undefined
}
