import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { testWith } from '../support/needs.ts'
import { skipWithout } from '../support/skip.ts'

const CHILD = join(import.meta.dirname, 'store-flush.child.ts')
const SHIM = join(import.meta.dirname, 'store-flush.shim.c')

// kill -9 does not prove a flush: the system still writes what a dead process left in its memory. So the system calls
// between a write and its acknowledgement are traced, by a library that is preloaded into a process.
const traced = testOnLinux()

function testOnLinux(): typeof test.skip {
  if (process.platform === 'linux') return testWith('cc')
  skipWithout('tests of flushes preload a library, which is done on Linux only')
  return test.skip
}

let directory: string
let lines: readonly string[]

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'store-flush-'))
  if (traced !== test.skip) lines = await traceStore()
})
afterAll(() => rm(directory, { recursive: true, force: true }))

/** Runs the child with the tracing library. Returns the calls and acknowledgements in their order. */
async function traceStore(): Promise<readonly string[]> {
  const [library, trace, home, fail] = ['shim.so', 'trace', 'home', 'fail'].map((name) =>
    join(directory, name),
  ) as [string, string, string, string]
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-o', library, SHIM, '-ldl'])
  const child = spawn(process.execPath, [CHILD, join(home, 'data'), trace, fail], {
    stdio: 'ignore',
    env: {
      ...process.env,
      LD_PRELOAD: library,
      TRACE_FILE: trace,
      TRACED_DIRECTORY: home,
      FAIL_FLUSHES_FILE: fail,
    },
  })
  await once(child, 'exit')
  expect(child.exitCode).toBe(0)
  return (await readFile(trace, 'utf8')).trim().split('\n')
}

/** The calls before each acknowledgement of this kind, back to the acknowledgement before it. */
function callsBefore(acknowledgement: string): string[][] {
  return lines.flatMap((line, end) => {
    if (line !== acknowledgement) return []
    const begin = lines.findLastIndex((one, at) => at < end && /^(acknowledged|refused)/.test(one)) + 1
    return [lines.slice(begin, end)]
  })
}

traced('the names of the files and directories of a new store are flushed before it accepts writes', () => {
  const [calls] = callsBefore('acknowledged start')
  const first_write = calls?.indexOf('write /data/test/data.mdb') ?? -1
  expect(calls?.slice(first_write)).toContain('flush /data/test')
  expect(calls).toEqual(expect.arrayContaining(['flush ', 'flush /data']))
  const [calls_of_blobs] = callsBefore('acknowledged start of blobs')
  expect(calls_of_blobs).toContain('flush /data/test/blobs')
})

traced.each(['insert', 'replace', 'delete'])(
  '%s is acknowledged after its pages and its header were flushed',
  (kind) => {
    const all = callsBefore(`acknowledged ${kind}`)
    expect(all).toHaveLength(10)
    for (const calls of all) {
      // The pages are written and flushed before the header that names them is written durably.
      expect(calls.join('\n')).toMatch(
        /^(write \/data\/test\/data.mdb\n)+flush \/data\/test\/data.mdb\ndurable-write \/data\/test\/data.mdb$/,
      )
    }
  },
)

traced('a blob is acknowledged after its content and its name were flushed', () => {
  const [calls] = callsBefore('acknowledged blob')
  expect(calls?.join('\n')).toMatch(
    /^(write (\/data\/test\/blobs\/blobs\/\.unfinished-\w+)\n)+flush \2\nflush \/data\/test\/blobs\/blobs$/,
  )
  expect(callsBefore('acknowledged blob-deletion')).toEqual([['flush /data/test/blobs/blobs']])
})

traced('a write whose flush fails is neither acknowledged nor visible', () => {
  expect(lines.filter((line) => /unflushed|refused/.test(line) && !line.includes('.unfinished'))).toEqual([
    'refused Unavailable',
    'refused: not visible',
    'refused-blob Unavailable',
  ])
})
