import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { doorOf } from '../../services/backoffice/backoffice.fixture.ts'
import { testWith } from '../support/needs.ts'
import { casesOf } from '../support/property-runs.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { SITUATIONS, shopVariables } from './runbooks.fixture.ts'
import { type SupportSystem, startSupport } from './support.fixture.ts'
import { missingIn, WALKS, walk } from './walks.fixture.ts'

const RUNBOOKS = 'docs/operators/runbooks'
const testInBash = testWith('bash', 'jq')

/** Blocks that this test does not run begin with one of these: no cluster and no database server runs here. */
const INFRASTRUCTURE = /^ *(?:kubectl|mongosh|nats|node scripts\/run\.mjs) /

/** Pages whose remedy is not an act on Multihub: somebody mends a server, a network, a clock, a setting or an update. */
const WITHOUT_ACT = [
  'archive-unreadable',
  'autoscaler-at-end',
  'bus-accepts-unsigned',
  'bus-down',
  'bus-forged',
  'certificate-ending',
  'clock-off',
  'event-loop-blocked',
  'events-unconfirmed',
  'ledger-behind',
  'ledger-newer-format',
  'log-lines-dropped',
  'nonces-unverified',
  'provider-callbacks-unverified',
  'receipts-missing',
  'registry-old',
  'role-gone',
  'role-unready',
  'rpcs-failing',
  'store-slow',
  'versions-mixed',
]

/** A block of commands on a page, with the output that the page shows after it. */
interface Block {
  readonly page: string
  readonly commands: string
  readonly shown: string | undefined
}

const DAILY_WORK = 'daily-work'
const FIRST_DAY = 'first-day'
const files = [...(await readdir(join(ROOT, RUNBOOKS))), `../${DAILY_WORK}.md`, `../${FIRST_DAY}.md`]
const pages = await Promise.all(
  files.map(async (file) => ({
    page: basename(file, '.md'),
    text: await readFile(join(ROOT, RUNBOOKS, file), 'utf8'),
  })),
)
const blocks: readonly Block[] = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/^ *```sh\n(.*?)^ *```\n(?:\s*```text\n(.*?)^ *```)?/gms)].map(
    ([, commands = '', shown]) => ({ page, commands, shown }),
  ),
)
const ours = blocks.filter(
  // Some blocks of daily work are calls with curl, whose requests test/architecture/docs-commands.test.ts checks. A file is the reader's
  // own: apps/cli/evidence.suite.ts runs these commands.
  ({ page, commands }) =>
    !INFRASTRUCTURE.test(commands) &&
    (page !== DAILY_WORK || (commands.includes('./multihub ') && !commands.includes('--file '))),
)

let system: SupportSystem
let home: string
let receiver: Receiver
/** What every command of a page finds in its environment. */
let environment: Readonly<Record<string, string>>
beforeAll(async () => {
  system = await startSupport()
  home = await mkdtemp(join(tmpdir(), 'multihub-runbooks-'))
  const tries = new Map<string, number>()
  receiver = await startReceiver((_count, { body: { id } }) => {
    tries.set(id, (tries.get(id) ?? 0) + 1)
    return { status: id.includes(':payment.') && (tries.get(id) ?? 0) <= 2 ? 500 : 200 }
  })
  const door = doorOf(system.roles)
  const { token } = await door.newPrincipal(['support', 'money', 'admin'])
  environment = {
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: home,
    MULTIHUB_URL: door.url,
    MULTIHUB_TOKEN: token,
  }
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  await receiver?.stop()
  if (home !== undefined) await rm(home, { recursive: true })
})

/** The variables of a block, in a situation that has all of them. */
async function variablesOf({ page, commands }: Block): Promise<Readonly<Record<string, string>>> {
  const shop = await system.newMerchant()
  const basic = shopVariables(shop)
  // The lists of the first day show that a refund waits.
  const waiting = page === FIRST_DAY ? ['REFUND_ID'] : []
  const used = [...new Set(commands.match(/(?<=\$)[A-Z_]+/g)), ...waiting].filter((name) => !(name in basic))
  if (used.length === 0) return basic
  const found = SITUATIONS.find(({ variables }) => used.every((name) => variables.includes(name)))
  if (found === undefined) throw new Error(`${page}: no situation has ${used.join(', ')}`)
  return { ...basic, ...(await found.make(system, shop, receiver.url)) }
}

/** Runs a block as a person does who copies it into a shell. The first command that fails ends it. */
async function run(
  block: Block,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const env = { ...environment, ...(await variablesOf(block)) }
  return new Promise((resolve) => {
    execFile(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', block.commands],
      { cwd: ROOT, env },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    )
  })
}

/** The heads of a table, or the names of a resource's fields. */
function namesOf(output: string): readonly string[] {
  const first = (output.split('\n')[0] ?? '').replaceAll(' (UTC)', '')
  if (/^[A-Z][A-Z ]+$/.test(first)) return first.trim().split(/ {2,}/)
  return [...output.matchAll(/^ *([a-z][a-z_]*)(?: {2,}|$)/gm)].map(([, name = '']) => name)
}

test('every page has a command of Multihub, unless its remedy is none', () => {
  expect(ours.filter(({ commands }) => !commands.includes('./multihub '))).toEqual([])
  const with_act = new Set(ours.map(({ page }) => page))
  expect(pages.map(({ page }) => page).filter((page) => !with_act.has(page))).toEqual(WITHOUT_ACT)
})

// Each "what to do" has a command that a test runs.
testInBash.each(casesOf(ours).map((block) => [block.page, block.commands, block] as const))(
  '%s: %s',
  async (_page, _commands, block) => {
    const { code, out, err } = await run(block)
    // An empty list says so on standard error, such as `no refusals`, and so does one that is longer than its limit.
    const rest = err.replace(/^(?:no [a-z ]+|the first \d+; --limit shows more)\n/gm, '')
    expect({ code, err: rest }).toEqual({ code: 0, err: '' })
    if (block.shown !== undefined) {
      expect(namesOf(block.shown).length).toBeGreaterThan(0)
      expect(namesOf(out)).toEqual(expect.arrayContaining([...namesOf(block.shown)]))
    }
  },
)

test('an output with another amount differs from what a page shows, with another time it does not', () => {
  const shown = '   +12 ms  ledger  123.00 INR to available. Available after it -1,123.00 INR'
  expect(missingIn(shown.replace('12 ms', '3 s'), shown)).toEqual([])
  for (const [amount, other] of [
    [' 123.00', ' 123.01'],
    [' -1,123.00', ' 1,123.00'],
  ] as const)
    expect(missingIn(shown.replace(amount, other), shown)).toEqual([shown])
})

testInBash.each(casesOf(WALKS))('the blocks of %s, in order, print what the page shows', async (page) => {
  const shop = await system.newMerchant()
  const { token } = await doorOf(system.roles).newPrincipal(['reveal'], shop.merchant_id)
  const of_merchant = page.startsWith('docs/merchants/') ? { MULTIHUB_TOKEN: token } : {}
  const walking = { ...environment, ...shopVariables(shop), ...of_merchant, RECEIVER_URL: receiver.url }
  expect(await walk(page, walking)).toEqual([])
})
