import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { BRUNO_FOLDER } from '../../scripts/docs/bruno.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { findInstalledProgram } from '../support/needs.ts'
import { type SystemHere, startHere } from '../support/system.ts'

const bruno = findInstalledProgram('bru')
const testWithBruno = bruno === undefined ? test.skip : test

let system: SystemHere
/** A data folder with the demo.json of the system. */
let home: string
beforeAll(async () => {
  if (bruno === undefined) return
  system = await startHere({ MULTIHUB_SCANNER: 'none' })
  home = await mkdtemp(join(tmpdir(), 'multihub-bruno-'))
  await writeFile(join(home, 'demo.json'), JSON.stringify(system.demo()))
})
afterAll(async () => {
  await system?.end()
  if (home !== undefined) await rm(home, { recursive: true, force: true })
})

interface Report {
  readonly results: readonly {
    readonly name: string
    readonly status: string
    readonly error: string | null
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

testWithBruno(
  'with the commands of its page, Bruno gets a success for every request of the collection',
  async () => {
    const page = await readFile(join(ROOT, BRUNO_FOLDER, 'README.md'), 'utf8')
    const [, commands = ''] = /```sh\n(.*?)```/s.exec(page) ?? []
    const report_file = join(home, 'report.json')
    const program = `${commands.replace('npx @usebruno/cli', '"$BRUNO"').trim()} --reporter-json ${report_file}`
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
    const env = { PATH: path, HOME: home, MULTIHUB_HOME: home, BRUNO: bruno }
    const options = { cwd: ROOT, env, timeout: HANG_LIMIT_MS }
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-euc', program], options).catch(
      (error) => error,
    )
    const [{ results }] = JSON.parse(await readFile(report_file, 'utf8')) as [Report]
    const failed = results.filter(
      ({ status, assertionResults }) =>
        status !== 'pass' ||
        assertionResults.length === 0 ||
        assertionResults.some((one) => one.status !== 'pass'),
    )
    expect({ failed, stdout: failed.length > 0 ? stdout : '' }).toEqual({ failed: [], stdout: '' })
    const names = [...PUBLIC_METHODS.map(({ name }) => name), 'attachment.upload']
    expect(results.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  },
)
