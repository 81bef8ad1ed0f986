import { lowerFirst } from '#lib/base/letter-case.ts'
import { type ClientModel, type Field, objectsIn, type Type } from './schema.ts'
import { type GeneratedText, RETRY_WORDS } from './texts.ts'

const NOTE = `<?php

declare(strict_types=1);

namespace Multihub\\Client\\Gen;

// Made by npm run generate. Do not edit.
`

/** The generated files of the client in PHP. */
export function phpFiles(model: ClientModel): readonly GeneratedText[] {
  return [
    { path: 'clients/php/src/Gen/Methods.php', text: methods(model) },
    { path: 'clients/php/src/Gen/Tables.php', text: tables(model) },
  ]
}

function printed(type: Type): string {
  switch (type.kind) {
    case 'text':
      return 'string'
    case 'integer':
    case 'money':
      return 'int'
    case 'number':
      return 'float'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'null'
    case 'texts':
      return 'string|list<string>'
    case 'map':
      return 'array<string, string>'
    case 'data':
      return 'array<string, mixed>'
    case 'constant':
      return typeof type.value === 'string' ? `'${type.value}'` : JSON.stringify(type.value)
    case 'words':
      return type.words.map((word) => `'${word}'`).join('|')
    case 'list':
      return `list<${printed(type.item)}>`
    case 'nullable':
      return `${printed(type.type)}|null`
    case 'reference':
      return type.name
    case 'object':
      return type.fields.length === 0 ? 'array{}' : `array{${type.fields.map(fieldText).join(', ')}}`
  }
}

function fieldText({ name, type, is_required }: Field): string {
  return `${name}${is_required ? '' : '?'}: ${printed(type)}`
}

function methods({ methods, types }: ClientModel): string {
  const aliases = types.map(({ name, type }) => ` * @phpstan-type ${name} ${printed(type)}\n`)
  const functions = methods.map(({ name, title, summary, item, has_defaults, key }) => {
    const note = key === 'payment' ? ' It is sent once: `createPayment` survives a lost answer.' : ''
    const parameter = `array $request${has_defaults ? ' = []' : ''}`
    const call = `
    /**
     * \`${name}\`: ${lowerFirst(summary)}.${note}
     *
     * @param ${title}Request $request
     * @return ${title}Result
     */
    public function ${lowerFirst(title)}(${parameter}): array
    {
        return $this->call('${name}', $request);
    }
`
    if (item === undefined) return call
    return `${call}
    /**
     * Every item of \`${name}\`, page by page.
     *
     * @param ${title}Request $request
     * @return \\Generator<int, ${printed(item)}>
     */
    public function ${lowerFirst(title)}Each(${parameter}): \\Generator
    {
        return $this->each('${name}', $request);
    }
`
  })
  return `${NOTE}
/**
 * Each method of the interface as a function.
 *
${aliases.join('')} */
trait Methods
{
    /** @param array<string, mixed> $request */
    abstract public function call(string $method, array $request = []): mixed;

    /** @param array<string, mixed> $request */
    abstract public function each(string $method, array $request = []): \\Generator;
${functions.join('')}}
`
}

function tables({ methods, types }: ClientModel): string {
  const keys = methods.map(({ name, key }) => `        '${name}' => '${key}',\n`)
  const words = RETRY_WORDS.map(([code, word]) => `        ${code} => '${word}',\n`)
  const fields = types
    .filter(({ name }) => name.endsWith('Request'))
    .flatMap(({ type }) => objectsIn(type).flatMap((object) => object.fields))
  const lists = [...new Set(fields.filter(({ type }) => type.kind === 'list').map(({ name }) => name))]
  return `${NOTE}
/** What follows from the methods and the error table. */
final class Tables
{
    /** What makes the repetition of a method harmless. */
    public const METHOD_KEYS = [
${keys.join('')}    ];

    /** What a program does after each error. */
    public const RETRIES = [
${words.join('')}    ];

    /** The fields of requests that are lists; every other array is an object. */
    public const LISTS = [${lists.map((name) => `'${name}'`).join(', ')}];
}
`
}
