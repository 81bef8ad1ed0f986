import { execFileSync, spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isCode, testsOf } from './projects.ts'
import {
  dockerAnswers,
  mongodbInContainer,
  natsInContainer,
  replicaSetInContainer,
} from './support/containers.ts'
import { findServers } from './support/servers.ts'

/** A check other than a test: it passes when its command does. */
interface Check {
  readonly name: string
  readonly run: () => Promise<boolean>
}

interface Counts {
  passed: number
  failed: number
  skipped: number
}

interface JestTest {
  readonly status: string
  readonly fullName: string
}

interface JestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numRuntimeErrorTestSuites: number
  readonly testResults: readonly { readonly assertionResults: readonly JestTest[] }[]
}

const root = join(import.meta.dirname, '..')
/**
 * Test files that run at once: two more than processors, because tests of whole systems wait for about half of their time.
 * Each one takes up to 1 GB.
 */
const WORKERS = Math.min(availableParallelism() + 2, 8)
const counts: Counts = { passed: 0, failed: 0, skipped: 0 }

/** Runs a command in the project's folder and shows what it prints. */
function command(name: string, parameters: readonly string[], folder = root): Promise<boolean> {
  const child = spawn(name, parameters, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  return new Promise((resolve) => {
    child.on('error', () => resolve(false))
    child.on('exit', (code) => resolve(code === 0))
  })
}

/** Generates the code again in a temporary folder and compares it with `gen/`, which is committed and never edited. */
async function generatedCodeIsCurrent(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-gen-'))
  try {
    for (const part of ['proto', 'buf.yaml', 'buf.gen.yaml']) {
      await cp(join(root, part), join(folder, part), { recursive: true })
    }
    if (!(await command('buf', ['generate'], folder))) return false
    const [committed, fresh] = await Promise.all([
      filesBelow(join(root, 'gen')),
      filesBelow(join(folder, 'gen')),
    ])
    const different = [...new Set([...committed.keys(), ...fresh.keys()])].filter(
      (path) => committed.get(path) !== fresh.get(path),
    )
    for (const path of different) console.error(`gen/${path} differs: run "npm run generate"`)
    return different.length === 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function filesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const texts = files.map(
    async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const,
  )
  return new Map(await Promise.all(texts))
}

const CHECKS: readonly Check[] = [
  { name: 'protos: lint', run: () => command('buf', ['lint']) },
  { name: 'protos: format', run: () => command('buf', ['format', '--diff', '--exit-code']) },
  { name: 'protos: generated code is current', run: generatedCodeIsCurrent },
  {
    name: 'protos: compatible with the last release',
    run: () => command('buf', ['breaking', '--against', 'proto/released.binpb']),
  },
  {
    name: 'format and lint',
    run: () => command('biome', ['ci', '--colors=off', '--diagnostic-level=warn', '.']),
  },
  { name: 'types', run: () => command('tsc', []) },
  { name: 'types of the console', run: () => command('tsc', ['-p', 'apps/console/browser']) },
]

/** Runs all checks at once, because most of them use one processor. */
async function runChecks(): Promise<void> {
  const check = async ({ name, run }: Check): Promise<void> => {
    const began = performance.now()
    const passed = await run()
    counts[passed ? 'passed' : 'failed'] += 1
    const time_s = ((performance.now() - began) / 1000).toFixed(1)
    console.error(`${passed ? 'passed' : 'FAILED'}  ${name} (${time_s} s)`)
  }
  await Promise.all(CHECKS.map(check))
}

/** Runs the tests that match the filter and adds Jest's counts. */
async function tests(filter: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-test-'))
  try {
    const path = join(folder, 'report.json')
    const jest = ['node_modules/jest/bin/jest.js', '--json', `--outputFile=${path}`]
    const ended_well = await command(process.execPath, [...jest, `--maxWorkers=${WORKERS}`, ...filter])
    const report: JestReport = JSON.parse(await readFile(path, 'utf8'))
    counts.passed += report.numPassedTests
    counts.skipped += report.numPendingTests
    // A suite that does not load has no tests to fail, and Jest itself may fail.
    const broken = report.numFailedTests + report.numRuntimeErrorTestSuites
    counts.failed += ended_well ? broken : Math.max(1, broken)
    const all = report.testResults.flatMap(({ assertionResults }) => assertionResults)
    for (const { fullName } of all.filter(({ status }) => status === 'pending'))
      console.error(`skipped: ${fullName}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Finds or starts the real servers once for all test files, and stops the servers that it started. */
async function testsWithServers(filter: readonly string[]): Promise<void> {
  const { mongodb, nats } = await findServers()
  if ('uri' in mongodb) process.env['MONGODB_URI'] = mongodb.uri
  if ('url' in nats) process.env['NATS_URL'] = nats.url
  try {
    await tests(filter)
  } finally {
    if ('stop' in mongodb) await mongodb.stop()
    if ('stop' in nats) await nats.stop()
  }
}

/** The suites that must hold while MongoDB elects another primary again and again. */
const STEP_DOWN_TESTS = [
  'lib/store/mongodb.test.ts',
  'services/balances/ledger.mongodb.test.ts',
  'test/integration/claims.test.ts',
  'test/integration/effects.test.ts',
  'test/integration/idempotency.test.ts',
]
const STEP_DOWN_EVERY_MS = 5_000

/** Runs the tests of real servers on containers, then the suites of the store on three members of MongoDB with step-downs. */
async function testsInContainers(): Promise<void> {
  if (!(await dockerAnswers())) {
    console.error('FAILED: no Docker engine answers; npm run test:containers needs one')
    counts.failed += 1
    return
  }
  const nats = await natsInContainer()
  process.env['NATS_URL'] = nats.url
  try {
    const mongodb = await mongodbInContainer()
    process.env['MONGODB_URI'] = mongodb.uri
    await tests(['--selectProjects', 'servers']).finally(mongodb.stop)
    const members = await replicaSetInContainer()
    process.env['MONGODB_URI'] = members.uri
    let step_downs = 0
    const stepDown = async (): Promise<void> => {
      await members.stepDown()
      step_downs += 1
    }
    const timer = setInterval(() => void stepDown().catch(console.error), STEP_DOWN_EVERY_MS)
    try {
      await tests(STEP_DOWN_TESTS)
    } finally {
      clearInterval(timer)
      await members.stop()
    }
    console.error(`${step_downs} step-downs of the primary`)
    if (step_downs === 0) counts.failed += 1
  } finally {
    await nats.stop()
  }
}

/**
 * The files that differ from the commit where this branch left main, or from `base`; new files too. A clone of another
 * branch may know main as `origin/main` only.
 */
function changedFiles(base: string | undefined): readonly string[] {
  const git = (...words: readonly string[]): readonly string[] =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const [main] = git('for-each-ref', '--format=%(refname)', 'refs/heads/main', 'refs/remotes/origin/main')
  if (base === undefined && main === undefined)
    throw new Error('there is no main: name a commit after --changed')
  const [start = 'HEAD'] = base === undefined ? git('merge-base', main ?? '', 'HEAD') : [base]
  return [...git('diff', '--name-only', start), ...git('ls-files', '--others', '--exclude-standard')]
}

/** Jest's filter for the tests that these files can break. Many tests read all files of their folder, such as manifests. */
function testsThatCanBreak(changed: readonly string[]): readonly string[] {
  const folders = changed
    .filter((path) => !isCode(path))
    .map((path) => path.slice(0, path.lastIndexOf('/') + 1))
  const read = [...new Set(folders)].filter((folder) =>
    /^(deploy|scripts|proofs|services|test)\//.test(folder),
  )
  return ['test/architecture/', ...read, ...testsOf(changed)]
}

const [option = '', ...words] = process.argv.slice(2)
if (option === '--containers') {
  await testsInContainers()
} else if (option === '--changed') {
  const changed = changedFiles(words[0])
  const chosen = testsThatCanBreak(changed)
  console.error(`${changed.length} changed files; ${chosen.length} test files and folders can break`)
  await runChecks()
  await testsWithServers(chosen)
} else {
  if (option === '') await runChecks()
  await testsWithServers(process.argv.slice(2))
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exitCode = counts.failed === 0 ? 0 : 1
