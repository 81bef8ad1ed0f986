import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Linux reports processor time in hundredths of a second, whatever the tick rate of the kernel is. */
const TICK_MS = 10

/** The processor time that all threads of a process have used, in milliseconds. */
export function cpuTime(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Counted after the process name, which may contain spaces: user time is the 12th field, system time the 13th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** The resident memory of a process, in megabytes. */
export function residentMemory(pid: number): Promise<number> {
  return memoryOf(pid, 'VmRSS')
}

/** The resident memory of a process without mapped files such as the embedded store, in megabytes. */
export function ownMemory(pid: number): Promise<number> {
  return memoryOf(pid, 'RssAnon')
}

async function memoryOf(pid: number, field: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(text)?.[1]) / 1_024
}
