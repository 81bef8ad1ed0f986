import { gunzipSync, gzipSync } from 'node:zlib'
import { randomHex } from '#lib/base/crypto/random.ts'
import { now } from '#lib/base/time.ts'
import type { ArchiveMedium } from '#lib/store/archive/archive-file.ts'
import { archiveFileName } from '#lib/store/archive/archived-document.ts'
import type { Choices } from '../parts/random.ts'
import type { Machine } from '../parts/simulated-process.ts'

/** The directory of the archive, which all processes share. */
export const ARCHIVE_DIRECTORY = '/archive'

/** What can go wrong with the file system of the archive. */
interface ArchiveFaults {
  /** Whether it is unmounted: nothing can be read or written. */
  is_away: boolean
  /** The probability that an access takes long, and the most that it takes. */
  slow: number
  readonly slow_max_ms: number
}

/** The files of the archive. A kill in the middle of a write leaves a part of its block. */
export interface SimulatedArchive {
  readonly medium: ArchiveMedium
  readonly faults: ArchiveFaults
}

/** Makes an empty directory without faults. */
export function createSimulatedArchive(machine: Machine, choices: Choices): SimulatedArchive {
  const files = new Map<string, Buffer>()
  const faults: ArchiveFaults = { is_away: false, slow: 0, slow_max_ms: 6_000 }

  /** Does something with a file after a time, unless its process is killed before. */
  const access = <T>(act: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const delay_ms = choices.chance(faults.slow)
        ? choices.between(1, faults.slow_max_ms)
        : choices.between(0.1, 2)
      machine.schedule(machine.current(), machine.scheduler.now_ms() + delay_ms, () => {
        if (faults.is_away) reject(Object.assign(new Error('the archive is away'), { code: 'ENOENT' }))
        else resolve(act())
      })
    })
  const contentOf = (name: string): Buffer => files.get(name) ?? Buffer.alloc(0)

  return {
    faults,
    medium: {
      async createFile(_directory, collection) {
        const name = archiveFileName(collection, now(), randomHex(6))
        await access(() => files.set(name, Buffer.alloc(0)))
        const write = (bytes: Buffer) =>
          access(() => files.set(name, Buffer.concat([contentOf(name), bytes])))
        return {
          name,
          async append(lines) {
            const block = gzipSync(Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])))
            const offset = contentOf(name).length
            const half = block.length >> 1
            await write(block.subarray(0, half))
            await write(block.subarray(half))
            return { file: name, offset, bytes: block.length }
          },
          close: async () => {},
        }
      },
      readBlock: (_directory, { file, offset, bytes }) =>
        access(() => gunzipSync(contentOf(file).subarray(offset, offset + bytes))),
    },
  }
}
