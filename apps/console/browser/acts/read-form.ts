import type { ShownField } from '../../forms/fields.ts'
import type { Decision } from '../../forms/run-act.ts'

/** What a person has written in a form. */
export function decisionOf(
  form: HTMLFormElement,
  fields: readonly ShownField[],
): Omit<Decision, 'operation_id'> {
  const data = new FormData(form)
  const textsOf = (name: string): string =>
    data
      .getAll(name)
      .flatMap((text) => (typeof text === 'string' ? [text.replaceAll('\r\n', '\n')] : []))
      .join('\n')
  const written = fields.filter(({ kind }) => kind !== 'file')
  const file = fields.flatMap(({ kind, name }) => (kind === 'file' ? data.getAll(name) : []))[0]
  return {
    values: Object.fromEntries(written.map(({ name }) => [name, textsOf(name)])),
    reason: textsOf('reason').trim(),
    ...(file instanceof File && { file }),
  }
}
