import { opendir } from 'node:fs/promises'
import { systemErrorCode } from '#lib/base/files.ts'
import { createSemaphore } from '#lib/base/limit.ts'
import { clock, withTimeout } from '#lib/base/time.ts'
import { log } from '#lib/telemetry/log.ts'
import { counter } from '#lib/telemetry/metrics.ts'
import type { Body } from '../check.ts'
import { ArchiveUnavailable } from '../errors.ts'
import { readArchiveBlock } from './archive-file.ts'
import { type ArchivedSpec, type ArchivePlace, bodyIn, placeOf } from './archived-document.ts'

const reads = counter(
  'multihub_archive_reads_total',
  'Bodies of archived documents that were read, by collection and result: from the memory (`cached`), from a file (`read`), or not (`failed`).',
  ['collection', 'result'],
)

/** How a reader is bounded. */
interface ReaderLimits {
  /** The most bytes of lines that are kept for the next reads. */
  readonly cache_bytes?: number
  /** How long one body may take, with the time for which it waits for others. */
  readonly limit_ms?: number
  /** How long all bodies of one page may take. */
  readonly page_limit_ms?: number
}

/** Reads the bodies of archived documents from the files of a directory. */
export interface ArchiveReader {
  /**
   * The body of a stub. Throws `ArchiveUnavailable`, within the time limit. The bodies of a page also share a time limit, from when the
   * page began on the monotonic clock.
   */
  readBody(spec: ArchivedSpec, stub: Body, page_began_ms?: number): Promise<Body>
}

/** Some hundred blocks: a page of payments of one time is in a few of them. */
const CACHE_BYTES = 16 * 1_024 ** 2
const LIMIT_MS = 2_000
/** As long as one call of the store may take. */
const PAGE_LIMIT_MS = 5_000
/** The limits of a command, which no caller waits for. */
export const COMMAND_LIMITS = { limit_ms: 60_000, page_limit_ms: 600_000 } as const
/** A file system that hangs keeps its threads, and names of hosts are resolved and blocks inflated by the same 4 threads. */
const READS_MAX = 2
/** A caller waits for one block at a time, so these are as many callers. */
const WAITING_MAX = 2_000

/** The lines of a block, without their ends. */
interface Block {
  readonly lines: readonly Uint8Array[]
  readonly bytes: number
}

/**
 * Creates the reader of a directory; without one, every read fails. Reads of one block at the same time are one read of its file,
 * and the blocks that were read last stay in memory.
 */
export function createArchiveReader(directory: string | undefined, limits: ReaderLimits = {}): ArchiveReader {
  const { cache_bytes = CACHE_BYTES, limit_ms = LIMIT_MS, page_limit_ms = PAGE_LIMIT_MS } = limits
  const refuse = (): Error => new Error('too many reads wait')
  const semaphore = createSemaphore({ holders_max: READS_MAX, waiting_max: WAITING_MAX, refuse })
  const blocks = createBlockCache(cache_bytes)
  // A read that hangs keeps its place: more of them would keep all threads.
  const under_way = new Set<{ readonly began_ms: number }>()
  const isHanging = ({ began_ms }: { readonly began_ms: number }): boolean =>
    clock.monotonic_ms() - began_ms >= limit_ms

  async function load(place: ArchivePlace): Promise<Block> {
    if (directory === undefined) throw new Error('MULTIHUB_ARCHIVE names no directory')
    // What needs a body would wait for nothing, and in the ledger all commands of its batch with it.
    if (under_way.size === READS_MAX && [...under_way].every(isHanging))
      throw new Error('the reads before it hang')
    const called_ms = clock.monotonic_ms()
    await semaphore.acquire(limit_ms)
    const read = { began_ms: clock.monotonic_ms() }
    under_way.add(read)
    const reading = readBlock(directory, place).finally(() => {
      under_way.delete(read)
      semaphore.release()
    })
    const block = await withTimeout(reading, limit_ms - (read.began_ms - called_ms))
    if (block === undefined) throw new Error(`no answer within ${limit_ms} ms`)
    return block
  }

  async function find(
    spec: ArchivedSpec,
    stub: Body,
    page_began_ms: number,
  ): Promise<{ body: Body; result: 'cached' | 'read' }> {
    const place = placeOf(spec, stub)
    try {
      const left_ms = page_limit_ms - (clock.monotonic_ms() - page_began_ms)
      const { block, is_new } = left_ms > 0 ? blocks.get(place, load) : {}
      const lines = block && (await withTimeout(block, left_ms))?.lines
      if (lines === undefined) throw new Error(`its page takes more than ${page_limit_ms} ms`)
      return { body: bodyIn(spec, stub, place, lines[place.line]), result: is_new ? 'read' : 'cached' }
    } catch (error) {
      if (error instanceof ArchiveUnavailable) throw error
      const code = systemErrorCode(error)
      throw new ArchiveUnavailable(place.file, code === undefined ? messageOf(error) : String(code))
    }
  }

  return {
    async readBody(spec, stub, page_began_ms = clock.monotonic_ms()) {
      const collection = spec.name
      try {
        const { body, result } = await find(spec, stub, page_began_ms)
        reads.increment({ collection, result })
        return body
      } catch (error) {
        reads.increment({ collection, result: 'failed' })
        const reason = messageOf(error)
        log.error({ collection, reason }, 'the body of an archived document could not be read')
        throw error
      }
    },
  }
}

/**
 * Warns when the directory of an archive is set and cannot be read. A process starts all the same, because only what needs a body fails.
 * Do not wait for it: a file system may hang.
 */
export async function warnOfUnreadable(directory: string | undefined): Promise<void> {
  if (directory === undefined) return
  try {
    const opened = await opendir(directory)
    await opened.close()
  } catch (error) {
    const code = String(systemErrorCode(error))
    log.warn(
      { variable: 'MULTIHUB_ARCHIVE', path: directory, code },
      'the directory of the archive cannot be read: mount it, or correct the setting',
    )
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function readBlock(directory: string, place: ArchivePlace): Promise<Block> {
  const text = await readArchiveBlock(directory, place)
  return { lines: linesOf(text), bytes: text.length }
}

function linesOf(text: Buffer): readonly Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    lines.push(text.subarray(start, end))
    start = end + 1
  }
  return lines
}

/** The blocks that were read last. A block that could not be read is read again the next time. */
function createBlockCache(bytes_max: number) {
  const blocks = new Map<string, Promise<Block>>()
  const sizes = new Map<string, number>()
  let bytes = 0

  function remove(name: string): void {
    blocks.delete(name)
    bytes -= sizes.get(name) ?? 0
    sizes.delete(name)
  }

  function keep(name: string, block: Promise<Block>): void {
    blocks.set(name, block)
    block.then(
      (read) => {
        sizes.set(name, read.bytes)
        bytes += read.bytes
        for (const oldest of sizes.keys()) {
          if (bytes <= bytes_max) break
          remove(oldest)
        }
      },
      () => remove(name),
    )
  }

  return {
    get(place: ArchivePlace, load: (place: ArchivePlace) => Promise<Block>) {
      const name = `${place.file} ${place.offset} ${place.bytes}`
      const known = blocks.get(name)
      if (known === undefined) {
        const block = load(place)
        keep(name, block)
        return { block, is_new: true }
      }
      const size = sizes.get(name)
      if (size !== undefined) {
        // The last of the map is the last that was read.
        sizes.delete(name)
        sizes.set(name, size)
      }
      return { block: known, is_new: false }
    },
  }
}
