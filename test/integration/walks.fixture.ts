import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../../scripts/sources/sources.ts'
import { eventually } from '../support/eventually.ts'

/** Pages whose blocks are run in order, as one person does in an hour, and whose outputs are those of a real run. */
export const WALKS = [
  'docs/operators/walks/refund.md',
  'docs/operators/walks/chargeback.md',
  'docs/operators/walks/receiver-down.md',
  'docs/operators/walks/rotating-keys.md',
  'docs/operators/walks/stuck-payment.md',
  'docs/merchants/first-hour.md',
] as const

/** A block with what the page shows after it; its first part is the text of the page before it. */
const BLOCK = /^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms

/** Blocks of other terminals: they do not end. */
const ENDLESS = /^\.\/multihub (?:listen|logs tail) /

/** Blocks that change nothing, or nothing twice, can be run again until what they wait for has happened. */
const READS =
  /^(?:[A-Z_]+=.*\n)?\.\/multihub (?:timeline|\w+ list|trigger .*--operation-id) .*\n(?:[A-Z_]+=.*\n)?$/

const RECORDS = process.env['MULTIHUB_RECORD'] === '1'

type Variables = Readonly<Record<string, string>>

/**
 * Runs the blocks of a page in order, with the variables that earlier ones have set, and returns the differences to what the page
 * shows. With `MULTIHUB_RECORD=1` it writes what they print into the page instead.
 */
export async function walk(page: string, env: Variables): Promise<readonly string[]> {
  const path = join(ROOT, page)
  const text = await readFile(path, 'utf8')
  const file = join(env['HOME'] ?? '', page.replaceAll('/', '-'))
  const ids = new Map<string, string>()
  const problems: string[] = []
  let recorded = ''
  let end = 0
  for (const match of text.matchAll(BLOCK)) {
    const [whole, commands = '', shown = ''] = match
    recorded += text.slice(end, match.index)
    end = match.index + whole.length
    const once = async (): Promise<string> => normalized(await run(commands, file, env), env, ids)
    let out = ''
    if (!ENDLESS.test(commands)) {
      out = await once()
      if (RECORDS && READS.test(commands)) {
        // What follows by itself has happened then.
        await new Promise((resolve) => setTimeout(resolve, 5_000))
        out = await once()
      }
      if (!RECORDS && READS.test(commands) && missingIn(out, shown).length > 0)
        out = await eventually(once, (again = '') => missingIn(again, shown).length === 0)
      for (const line of missingIn(out, shown)) problems.push(`${commands.trim()}: no line ${line}`)
    }
    recorded += `\`\`\`sh\n${commands}\`\`\`\n${out === '' ? '' : `\n\`\`\`text\n${out}\`\`\`\n`}`
  }
  if (!RECORDS) return problems
  await writeFile(path, recorded + text.slice(end))
  return []
}

async function run(commands: string, file: string, env: Variables): Promise<string> {
  const program = `touch ${file}; . ${file}\n${commands}\nfor name in $(compgen -v | grep '_ID$'); do declare -p $name; done >${file}`
  return new Promise((resolve, reject) => {
    execFile('bash', ['--norc', '-euo', 'pipefail', '-c', program], { cwd: ROOT, env }, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(`${commands}\n${err}`, { cause: error })),
    )
  })
}

/** An output with ids, times and addresses that do not change from run to run. */
function normalized(out: string, env: Variables, ids: Map<string, string>): string {
  const idOf = (id: string): string => {
    const known = ids.get(id) ?? `01a22391-d148-7380-a05c-${String(ids.size + 1).padStart(12, '0')}`
    ids.set(id, known)
    return known
  }
  return out
    .replaceAll(env['RECEIVER_URL'] ?? '\0', 'https://shop.example/hook')
    .replace(/127\.0\.0\.1(?::\d+)?/g, 'shop.example')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, idOf)
    .replace(/\d{4}-\d\d-\d\d/g, '2026-11-28')
    .replace(/\d\d:\d\d:\d\d/g, '08:12:07')
    .replace(/(?<=08:12:07)\.\d{3}/g, '.574')
    .replace(/\b\d+(?:\.\d+)? (ms|s)\b/g, '12 $1')
    .replace(/^ +(\+12 m?s)/gm, (_, duration: string) => duration.padStart(12))
    .replace(/\b[0-9a-f]{32}\b/g, '…')
    .replace(new RegExp(`\\b${env['MERCHANT_ID']}\\b`, 'g'), '1001')
    .replace(new RegExp(`\\b${env['SERVICE_ID']}\\b`, 'g'), '30001')
    .replace(new RegExp(`\\b${env['APPLICATION_ID']}\\b`, 'g'), '20001')
    .replace(/ +$/gm, '')
}

/** The lines of `shown` that an output has not, whatever their spaces, ids, times and numbers. Amounts of money are the same. */
export function missingIn(out: string, shown: string): readonly string[] {
  const bare = (line: string): string =>
    line.replace(
      /(?<![\w.:-])(-?[\d,]+(?:\.\d+)? (?!UTC)[A-Z]{3}\b)|[0-9a-f]{8}-[0-9a-f-]+|[\d.:-]+|\b(?:ms|s)\b|[\s+]/g,
      (_, amount = '') => amount,
    )
  const lines = new Set(out.split('\n').map(bare))
  return shown.split('\n').filter((line) => !lines.has(bare(line)))
}
