import { lowerFirst } from '#lib/base/letter-case.ts'
import { type ClientModel, type Field, MONEY_FIELDS, type Type } from './schema.ts'
import { type GeneratedText, RETRY_WORDS } from './texts.ts'

const NOTE = '// Made by npm run generate. Do not edit.\n'

/** The generated files of the client in TypeScript. */
export function typescriptFiles(model: ClientModel): readonly GeneratedText[] {
  return [
    { path: 'clients/typescript/src/gen/types.ts', text: types(model) },
    { path: 'clients/typescript/src/gen/methods.ts', text: methods(model) },
    { path: 'clients/typescript/src/gen/tables.ts', text: tables(model) },
  ]
}

function types({ types }: ClientModel): string {
  const declarations = types.map(({ name, type, description }) => {
    const body = printed(type, '')
    return `${comment(description, '')}export ${type.kind === 'object' ? `interface ${name} ${body}` : `type ${name} = ${body}`}\n`
  })
  return `${NOTE}\n${declarations.join('\n')}`
}

function printed(type: Type, indent: string): string {
  switch (type.kind) {
    case 'text':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'money':
      return 'bigint'
    case 'boolean':
    case 'null':
      return type.kind
    case 'texts':
      return 'string | string[]'
    case 'map':
      return 'Record<string, string>'
    case 'data':
      return 'Record<string, unknown>'
    case 'constant':
      return JSON.stringify(type.value).replaceAll('"', "'")
    case 'words':
      return type.words.map((word) => `'${word}'`).join(' | ')
    case 'list':
      return type.item.kind === 'words'
        ? `(${printed(type.item, indent)})[]`
        : `${printed(type.item, indent)}[]`
    case 'nullable':
      return `${printed(type.type, indent)} | null`
    case 'reference':
      return type.name
    case 'object':
      if (type.fields.length === 0) return 'Record<string, never>'
      return `{\n${type.fields.map((field) => fieldText(field, `${indent}  `)).join('')}${indent}}`
  }
}

function fieldText({ name, type, is_required, description }: Field, indent: string): string {
  const optional = is_required ? '' : '?'
  const more = is_required ? '' : ' | undefined'
  return `${comment(description, indent)}${indent}${name}${optional}: ${printed(type, indent)}${more}\n`
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text} */\n`
}

function methods({ methods }: ClientModel): string {
  const used = methods.flatMap(({ title, item }) => [
    `${title}Request`,
    `${title}Result`,
    ...(item?.kind === 'reference' ? [item.name] : []),
  ])
  const functions = methods.map(({ name, title, summary, item, has_defaults, key }) => {
    const defaults = has_defaults ? ' = {}' : ''
    const note = key === 'payment' ? ' It is sent once: `createPayment` survives a lost answer.' : ''
    const call = `
  /** \`${name}\`: ${lowerFirst(summary)}.${note} */
  ${lowerFirst(title)}(request: ${title}Request${defaults}, options?: CallOptions): Promise<${title}Result> {
    return this.call('${name}', request, options)
  }
`
    if (item === undefined) return call
    return `${call}
  /** Every item of \`${name}\`, page by page. */
  ${lowerFirst(title)}Each(request: ${title}Request${defaults}, options?: CallOptions): AsyncGenerator<${printed(item, '')}> {
    return this.each('${name}', request, options)
  }
`
  })
  const rows = methods.map(
    ({ name, title }) => `  '${name}': { request: ${title}Request; result: ${title}Result }\n`,
  )
  const lists = methods.flatMap(({ name, item }) =>
    item === undefined ? [] : [`  '${name}': ${printed(item, '')}\n`],
  )
  return `${NOTE}
import type { ${[...new Set(used)].sort().join(', ')} } from './types.ts'

/** What a single call can set. */
export interface CallOptions {
  /** Ends the call and its retries. */
  signal?: AbortSignal | undefined
}

/** The request and the result of each method. */
export interface Methods {
${rows.join('')}}

/** The items of each method that lists something. */
export interface ListItems {
${lists.join('')}}

/** Each method of the interface as a function. */
export abstract class MethodCalls {
  /** Calls a method by its name. */
  abstract call<M extends keyof Methods>(method: M, request: Methods[M]['request'], options?: CallOptions): Promise<Methods[M]['result']>

  /** Every item of a list, page by page. */
  abstract each<M extends keyof ListItems>(method: M, request: Methods[M]['request'], options?: CallOptions): AsyncGenerator<ListItems[M]>
${functions.join('')}}
`
}

function tables({ methods }: ClientModel): string {
  const keys = methods.map(({ name, key }) => `  '${name}': '${key}',\n`)
  const words = RETRY_WORDS.map(([code, word]) => `  ${code}: '${word}',\n`)
  return `${NOTE}
/** What makes the repetition of a method harmless. */
export type MethodKey = 'none' | 'operation_id' | 'c_id' | 'payment'

/** The key of each method. */
export const METHOD_KEYS: Readonly<Record<string, MethodKey>> = {
${keys.join('')}}

/** What a program does after an error. */
export type Retry = 'never' | 'same_request' | 'check_status' | 'next_utc_day' | 'after_scan'

/** The word for each code of the error table. */
export const RETRIES: Readonly<Record<number, Retry>> = {
${words.join('')}}

/** The fields whose integers are amounts. */
export const MONEY_FIELDS: readonly string[] = ${JSON.stringify(MONEY_FIELDS).replaceAll('"', "'").replaceAll(',', ', ')}
`
}
