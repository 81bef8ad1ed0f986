import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clock, sleep } from '#lib/base/time.ts'
import { residentMemory } from '../test/support/process-use.ts'
import { type Evidence, openEvidence, type PreparedUpload } from './attachments/evidence.ts'
import { transfer } from './attachments/transfer.ts'
import { startChild } from './child-process.ts'
import type { BenchResult } from './result.ts'
import { measureAlternately, medianOf, printProgress } from './rounds.ts'
import { startSystem } from './system.ts'

const MEGABYTE = 1_048_576
const FILE_BYTES = 10 * MEGABYTE
const ROUNDS = 5
const FILES = 8
const AT_ONCE = 4
const UPLOADS_AT_ONCE = 64
const RATE_GOAL = { ratio: 0.7 }
const MEMORY_GOAL = { at_most: 100 }
const CONTENT = Buffer.from(randomBytes((FILE_BYTES * 3) / 4).toString('base64'))

/**
 * `attachments.upload` and `attachments.download` measure files of 10 MiB through the gateway and the service, against a
 * bare server that streams to the same blobs. `required work only` is that server with the digest and the two writes that
 * the contract requires of an upload: ours cannot be faster. `attachments.memory` measures how far the memory of the
 * whole system rises above idle while 64 files are uploaded at once.
 */
export async function run(): Promise<BenchResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-bench-'))
  const home = join(directory, 'home')
  const system = await startSystem(home, { MULTIHUB_SCANNER: 'none' })
  const bare = await startChild('./attachments/baseline.child.ts', { BENCH_DIRECTORY: directory })
  try {
    const evidence = await openEvidence(home)
    const memory = await memoryOfUploads(evidence, system.pid)
    const bare_url = `http://127.0.0.1:${bare.ready}`
    return [...(await rates(evidence, bare_url)), memory]
  } finally {
    bare.kill()
    await system.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function rates(evidence: Evidence, bare_url: string): Promise<BenchResult[]> {
  let number = 0
  const bareUrls = (): string[] => Array.from({ length: FILES }, (_, at) => `${bare_url}/${number - at}`)
  const uploadBare = (urlOf: (url: string) => string): Promise<number> => {
    number += FILES
    const headers = { 'content-length': String(CONTENT.length) }
    return megabytesPerSecond(bareUrls().map((url) => () => transfer(urlOf(url), headers, CONTENT)))
  }
  const uploaded: PreparedUpload[] = []
  const uploads = await measureAlternately('attachments.upload', ROUNDS, {
    async ours() {
      const prepared = await Promise.all(Array.from({ length: FILES }, () => evidence.prepare(CONTENT)))
      uploaded.push(...prepared)
      return megabytesPerSecond(prepared.map((one) => () => transfer(one.url, one.headers, CONTENT)))
    },
    baseline: () => uploadBare((url) => url),
  })
  const required = await measureAlternately('attachments.upload, required work only', ROUNDS, {
    ours: () => uploadBare((url) => `${url}?required`),
    baseline: () => uploadBare((url) => url),
  })
  const urls: string[] = []
  for (const one of uploaded.slice(-FILES)) urls.push(await evidence.downloadUrl(one))
  const downloads = await measureAlternately('attachments.download', ROUNDS, {
    ours: () => megabytesPerSecond(urls.map((url) => () => transfer(url))),
    baseline: () => megabytesPerSecond(bareUrls().map((url) => () => transfer(url))),
  })
  const result = { unit: 'MB/s', goal: RATE_GOAL }
  return [
    { name: 'attachments.upload', ...result, ...medianOf(uploads, (rate) => rate) },
    { name: 'attachments.upload, required work only', unit: 'MB/s', ...medianOf(required, (rate) => rate) },
    { name: 'attachments.download', ...result, ...medianOf(downloads, (rate) => rate) },
  ]
}

/** Runs the transfers, a few at a time. */
async function megabytesPerSecond(transfers: readonly (() => Promise<number>)[]): Promise<number> {
  const waiting = [...transfers]
  const start_ms = clock.monotonic_ms()
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return ((transfers.length * FILE_BYTES) / MEGABYTE / (clock.monotonic_ms() - start_ms)) * 1_000
}

/** The highest memory during the uploads minus that before them, for which the baseline is the memory when idle. */
async function memoryOfUploads(evidence: Evidence, pid: number): Promise<BenchResult> {
  printProgress('attachments.memory')
  // The first ones load code and fill caches.
  for (let warm_up = 0; warm_up < 8; warm_up += 1) {
    const { url, headers } = await evidence.prepare(CONTENT)
    await transfer(url, headers, CONTENT)
  }
  const prepared = await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, () => evidence.prepare(CONTENT)))
  await sleep(5_000)
  const idle_mb = await residentMemory(pid)
  let highest_mb = idle_mb
  let is_done = false
  const uploads = Promise.all(prepared.map(({ url, headers }) => transfer(url, headers, CONTENT))).finally(
    () => {
      is_done = true
    },
  )
  while (!is_done) {
    highest_mb = Math.max(highest_mb, await residentMemory(pid))
    await Promise.race([uploads, sleep(20)])
  }
  await uploads
  const ours = highest_mb - idle_mb
  return {
    name: 'attachments.memory, 64 uploads at once above idle',
    unit: 'MB',
    ours,
    baseline: idle_mb,
    ratio: idle_mb / highest_mb,
    goal: MEMORY_GOAL,
  }
}
