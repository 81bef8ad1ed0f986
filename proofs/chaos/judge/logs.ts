import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Place } from '../../../test/support/fleet/place.ts'
import { faultIn } from '../../simulation/log-lines.ts'

/** The faults of the program that the logs of all processes show, such as a TypeError. */
export async function faultsInLogs(places: readonly Place[]): Promise<readonly string[]> {
  const faults: string[] = []
  for (const { name, log_path } of places) {
    for await (const line of createInterface({ input: createReadStream(log_path) })) {
      if (!line.startsWith('{')) continue
      const fault = readFault(line)
      if (fault !== undefined) faults.push(`${name} logged a fault: ${fault}, see ${log_path}`)
    }
  }
  return faults
}

function readFault(line: string): string | undefined {
  try {
    return faultIn(line)
  } catch {
    // A process that is killed leaves half a line.
    return undefined
  }
}
