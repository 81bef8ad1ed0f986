import { lowerFirst } from '#lib/base/letter-case.ts'
import { printType, type TypeWords } from './printed-type.ts'
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

const WORDS: TypeWords = {
  text: 'string',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'null',
  texts: 'string|list<string>',
  map: 'array<string, string>',
  data: 'array<string, mixed>',
  constant: (value) => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value)),
  words: (words) => words.map((word) => `'${word}'`).join('|'),
  list: (item) => `list<${item}>`,
  nullable: (type) => `${type}|null`,
  object: ({ fields }) => (fields.length === 0 ? 'array{}' : `array{${fields.map(fieldText).join(', ')}}`),
}

function printed(type: Type): string {
  return printType(type, WORDS)
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
