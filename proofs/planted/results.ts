import { readFile, writeFile } from 'node:fs/promises'

/** The row of a planted fault in the table of results: its name, and the seed or the test that found it. */
const ROW = /^\| (?<name>[^|]+) \| (?<proof>[^|]+) \|/
const HEAD = '| Planted fault |'

/** What found a planted fault: a seed, or a test by the name of its file. */
export interface Proof {
  readonly name: string
  readonly proof: string
  readonly seconds: number
}

/** The seed with which each planted fault was found, from the table of a page. */
export async function readKnownSeeds(path: string): Promise<ReadonlyMap<string, number>> {
  const rows = (await readFile(path, 'utf8')).split('\n').map((line) => ROW.exec(line)?.groups)
  return new Map(
    rows.flatMap((row) =>
      row && /^[0-9]+$/.test(row['proof'] ?? '') ? [[row['name'] ?? '', Number(row['proof'])] as const] : [],
    ),
  )
}

/** Writes what found a planted fault today into its row, or into a new one at the top of the table. */
export async function recordProof(path: string, { name, proof, seconds }: Proof): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n')
  const row = `| ${name} | ${proof} | ${new Date().toISOString().slice(0, 10)} | ${seconds} s |`
  const present = lines.findIndex((line) => line.startsWith(`| ${name} | `))
  const top = lines.findIndex((line) => line.startsWith(HEAD)) + 2
  const place = present === -1 ? top : present
  await writeFile(path, lines.toSpliced(place, present === -1 ? 0 : 1, row).join('\n'))
}
