import { lowerFirst, snakeCase } from '#lib/base/letter-case.ts'
import { printType, type TypeWords } from './printed-type.ts'
import { type ClientModel, type Field, objectsIn, type Type } from './schema.ts'
import { type GeneratedText, RETRY_WORDS } from './texts.ts'

const NOTE = '# Made by npm run generate. Do not edit.\n'
const FOLDER = 'clients/python/src/multihub_client/gen'

/** The generated files of the client in Python. */
export function pythonFiles(model: ClientModel): readonly GeneratedText[] {
  return [
    { path: `${FOLDER}/__init__.py`, text: NOTE },
    { path: `${FOLDER}/types.py`, text: types(model) },
    { path: `${FOLDER}/methods.py`, text: methods(model) },
    { path: `${FOLDER}/tables.py`, text: tables(model) },
  ]
}

function types({ types }: ClientModel): string {
  const classes = types.flatMap(({ type }) =>
    objectsIn(type).map(({ name, fields }) => classText(name, fields)),
  )
  // An alias evaluates what it names, so the aliases come after the classes.
  const aliases = types
    .filter(({ type }) => type.kind !== 'object')
    .map(({ name, type }) => `${name} = ${printed(type)}\n`)
  return `${NOTE}
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

${classes.join('\n')}
${aliases.join('')}`
}

/** Python 3.9 has no \`NotRequired\`: required and optional fields are in two classes. */
function classText(name: string, fields: readonly Field[]): string {
  const required = fields.filter(({ is_required }) => is_required)
  const optional = fields.filter(({ is_required }) => !is_required)
  if (optional.length === 0) return `\nclass ${name}(TypedDict):\n${fieldTexts(required)}`
  if (required.length === 0) return `\nclass ${name}(TypedDict, total=False):\n${fieldTexts(optional)}`
  return `\nclass _${name}Required(TypedDict):\n${fieldTexts(required)}\n\nclass ${name}(_${name}Required, total=False):\n${fieldTexts(optional)}`
}

function fieldTexts(fields: readonly Field[]): string {
  if (fields.length === 0) return '    pass\n'
  return fields
    .map(({ name, type, description }) => {
      const comment = description === undefined ? '' : `    # ${description}\n`
      return `${comment}    ${name}: ${printed(type)}\n`
    })
    .join('')
}

const WORDS: TypeWords = {
  text: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
  texts: 'Union[str, List[str]]',
  map: 'Dict[str, str]',
  data: 'Dict[str, Any]',
  constant: (value) => `Literal[${pythonValue(value)}]`,
  words: (words) => `Literal[${words.map((word) => `"${word}"`).join(', ')}]`,
  list: (item) => `List[${item}]`,
  nullable: (type) => `Optional[${type}]`,
  object: ({ name }) => name,
}

function printed(type: Type): string {
  return printType(type, WORDS)
}

function pythonValue(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

function methods({ methods }: ClientModel): string {
  const functions = methods.map(({ name, title, summary, item, has_defaults, key }) => {
    const type = has_defaults ? `Optional[t.${title}Request] = None` : `t.${title}Request`
    const sent = has_defaults ? 'request or {}' : 'request'
    const note = key === 'payment' ? ' It is sent once: `create_payment` survives a lost answer.' : ''
    const call = `
    def ${snakeCase(name)}(self, request: ${type}) -> t.${title}Result:
        """\`${name}\`: ${lowerFirst(summary)}.${note}"""
        return cast("t.${title}Result", self.call("${name}", ${sent}))
`
    if (item === undefined) return call
    return `${call}
    def ${snakeCase(name)}_each(self, request: ${type}) -> Iterator[t.${printed(item)}]:
        """Every item of \`${name}\`, page by page."""
        return cast("Iterator[t.${printed(item)}]", self.each("${name}", ${sent}))
`
  })
  return `${NOTE}
from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, cast

from . import types as t


class MethodCalls:
    """Each method of the interface as a function."""

    def call(self, method: str, request: Mapping[str, Any]) -> Any:
        """Calls a method by its name."""
        raise NotImplementedError

    def each(self, method: str, request: Mapping[str, Any]) -> Iterator[Any]:
        """Every item of a list, page by page."""
        raise NotImplementedError
${functions.join('')}`
}

function tables({ methods }: ClientModel): string {
  const keys = methods.map(({ name, key }) => `    "${name}": "${key}",\n`)
  const words = RETRY_WORDS.map(([code, word]) => `    ${code}: "${word}",\n`)
  return `${NOTE}
from typing import Dict

# What makes the repetition of a method harmless: nothing (a read), operation_id, c_id, or the c_id of a new payment.
METHOD_KEYS: Dict[str, str] = {
${keys.join('')}}

# What a program does after each error.
RETRIES: Dict[int, str] = {
${words.join('')}}
`
}
