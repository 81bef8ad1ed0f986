import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiDocument } from '../../gateway/openapi/document.ts'
import { ROOT } from '../sources/sources.ts'
import { brunoFiles } from './bruno.ts'
import { commandLineReference } from './command-line.ts'
import { consoleRights } from './console-rights.ts'
import { partsDiagrams, statesDiagram } from './diagrams.ts'
import { errorTables } from './errors.ts'
import { answerOf, callbackExample, depositMethods } from './examples.ts'
import {
  callbackUrlTable,
  connectionTable,
  quotaTable,
  sizeTable,
  type Table,
  tableText,
  timeTable,
} from './limits.ts'
import { operationsTable } from './operations.ts'
import { rightsTable } from './rights.ts'
import { settingsTable } from './settings.ts'
import { metricsTable, PROMETHEUS_RULE_PATH, prometheusRuleText } from './telemetry.ts'

/** A file that is generated from the code, at least in part: its text now and as it should be. */
export interface GeneratedFile {
  readonly path: string
  readonly current: string
  readonly wanted: string
}

/** The generated sections of pages. Two comments with the name of a section mark its place. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, () => string | Table | Promise<string>>>>> = {
  'docs/architecture/README.md': { parts: partsDiagrams, states: statesDiagram },
  'docs/internal-teams.md': { rights: rightsTable },
  'docs/architecture/payments.md': { operations: operationsTable },
  'docs/operators/settings.md': { settings: settingsTable },
  'docs/operators/command-line.md': { commands: commandLineReference },
  'docs/operators/telemetry.md': { metrics: metricsTable },
  'docs/merchants/errors.md': { errors: errorTables },
  'docs/merchants/callbacks.md': {
    'an example': () => callbackExample('payment.failed'),
    'callback URLs': callbackUrlTable,
  },
  'docs/merchants/deposits.md': {
    'the response': () => answerOf('payment.in'),
    methods: depositMethods,
    'the status': () => answerOf('payment.status', 'result', 'payment', 'status'),
  },
  'docs/merchants/withdrawals.md': { 'the response': () => answerOf('payment.out') },
  'docs/merchants/balances.md': { 'the response': () => answerOf('balance.get') },
  'docs/merchants/limits.md': {
    quotas: quotaTable,
    sizes: sizeTable,
    connections: connectionTable,
    times: timeTable,
  },
}

/** The files that are generated as a whole. */
const WHOLE_FILES: Readonly<Record<string, () => string>> = {
  'docs/merchants/openapi.json': () => `${JSON.stringify(openApiDocument('v1'), undefined, 1)}\n`,
  'docs/merchants/openapi-v2.json': () => `${JSON.stringify(openApiDocument('v2'), undefined, 1)}\n`,
  ...brunoFiles(),
  [PROMETHEUS_RULE_PATH]: prometheusRuleText,
  'apps/console/forms/operator-rights.ts': consoleRights,
}

/** Every generated file. Throws if a page lacks the place of a generated section. */
export async function generatedFiles(): Promise<readonly GeneratedFile[]> {
  const pages = Object.entries(SECTIONS).map(async ([path, sections]) => {
    const current = await readFile(join(ROOT, path), 'utf8')
    let wanted = current
    for (const [name, make] of Object.entries(sections))
      wanted = replaceSection(wanted, name, textOf(await make()), path)
    return { path, current, wanted }
  })
  const files = Object.entries(WHOLE_FILES).map(async ([path, make]) => {
    const current = await readFile(join(ROOT, path), 'utf8').catch(() => '')
    return { path, current, wanted: make() }
  })
  return Promise.all([...pages, ...files])
}

function textOf(section: string | Table): string {
  return typeof section === 'string' ? section : tableText(section)
}

function replaceSection(text: string, name: string, content: string, path: string): string {
  const begin = `<!-- ${name}: made by npm run docs -->`
  const end = `<!-- end of ${name} -->`
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`${path} has no place for section ${name}`)
  return `${before}${begin}\n${content}\n${end}${after}`
}
