import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'

const run = promisify(execFile)
const PROGRAMS = join(ROOT, 'node_modules', '.bin')

let folder: string
let archive: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multihub-package-'))
  await run(process.execPath, [join(ROOT, 'clients', 'typescript', 'build.ts'), folder])
  archive = await pack()
})
afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true })
})

/** Packs the folder as `npm publish` does, and returns the path of the archive. */
async function pack(): Promise<string> {
  const words = ['pack', '--silent', '--offline', '--pack-destination', folder]
  const { stdout } = await run('npm', words, { cwd: folder })
  return join(folder, stdout.trim())
}

/** What a program prints about an archive; its exit code is 0 if it has found nothing. */
async function judge(program: string, ...words: readonly string[]) {
  const { code = 0, stdout } = await run(join(PROGRAMS, program), [...words]).catch((error) => error)
  return { code, stdout: String(stdout) }
}
const judgeFiles = (path: string) => judge('publint', path, '--strict')
const judgeTypes = (path: string) => judge('attw', path, '--no-color', '--no-emoji', '--format', 'ascii')

test('the archive holds the built files and no sources', async () => {
  const { stdout } = await run('tar', ['-tzf', archive])
  const names = stdout.trim().split('\n')
  expect(names).toEqual(
    expect.arrayContaining(['package/LICENSE', 'package/README.md', 'package/package.json']),
  )
  const others = names.filter((name) => !/^package\/(?:LICENSE|README\.md|package\.json|dist\/)/.test(name))
  expect(others).toEqual([])
  expect(names.filter((name) => /(?<!\.d)\.ts$/.test(name))).toEqual([])
})

test('publint finds nothing in the archive', async () => {
  expect(await judgeFiles(archive)).toMatchObject({ code: 0, stdout: expect.stringContaining('All good!') })
})

test('the types are found by Node.js and by bundlers, as ESM and as CommonJS', async () => {
  const { code, stdout } = await judgeTypes(archive)
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('No problems found') })
})

test('both programs find an archive whose CommonJS has the types of ESM and whose main file is missing', async () => {
  const path = join(folder, 'package.json')
  const text = await readFile(path, 'utf8')
  const broken = JSON.parse(text)
  broken.exports['.'].require.types = './dist/esm/index.d.ts'
  broken.main = './dist/index.js'
  await writeFile(path, JSON.stringify({ ...broken, version: '0.0.0' }))
  const wrong = await pack()
  expect(await judgeFiles(wrong)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('does not exist'),
  })
  expect(await judgeTypes(wrong)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('Masquerading as ESM'),
  })
})
