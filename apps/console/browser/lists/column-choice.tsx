import type { DescField, Message } from '@bufbuild/protobuf'
import type { ReactNode } from 'react'
import { columnFields } from '../../values/csv.ts'
import { labelOf } from '../../values/labels.ts'
import { useRights } from '../parts/principal.tsx'
import { store, useStored } from '../parts/stored.ts'
import type { ListSpec } from './list-spec.ts'

const NONE: readonly string[] = []
const keyOf = (path: string): string => `columns:${path}`

/** The columns of a list that this person sees: the first one always, the others as chosen in this browser. */
export function useColumns<T extends Message>(spec: ListSpec<T>): readonly DescField[] {
  const { path, columns } = spec
  const { is_merchant } = useRights()
  const chosen = useStored(keyOf(path), NONE)
  const names = chosen.length > 0 ? [...columns.slice(0, 1), ...chosen] : columns
  const fields = fieldsOf(spec)
  return [...new Set(names)].flatMap((name) => {
    // A principal of a merchant sees one merchant only.
    if (is_merchant && name === 'merchant_id') return []
    return fields.find((field) => field.name === name) ?? []
  })
}

/** The fields that can be columns: those that fit into one, and those whose cells the list draws itself. */
function fieldsOf<T extends Message>({ desc, cells = {} }: ListSpec<T>): readonly DescField[] {
  const fitting = columnFields(desc)
  return desc.fields.filter((field) => fitting.includes(field) || cells[field.name] !== undefined)
}

/** A list of all columns, of which a person chooses. Those of the list's own come first, in its order. */
export function ColumnChoice<T extends Message>({
  spec,
  shown,
}: {
  readonly spec: ListSpec<T>
  readonly shown: readonly DescField[]
}): ReactNode {
  const { path, columns } = spec
  const { is_merchant } = useRights()
  const [first, ...own] = columns
  const others = fieldsOf(spec)
    .map(({ name }) => name)
    .filter((name) => !columns.includes(name))
  const offered = [...own, ...others].filter((name) => !(is_merchant && name === 'merchant_id'))
  const names = shown.map(({ name }) => name)
  const choose = (name: string, is_chosen: boolean): void => {
    const next = offered.filter((one) => (one === name ? is_chosen : names.includes(one)))
    store(keyOf(path), next)
  }
  return (
    <details className="choice">
      <summary>Columns</summary>
      <fieldset>
        <legend>Columns next to {labelOf(first ?? '')}</legend>
        {offered.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={names.includes(name)}
              disabled={names.length === 2 && names[1] === name}
              onChange={({ target }) => choose(name, target.checked)}
            />
            {labelOf(name)}
          </label>
        ))}
        <button type="button" onClick={() => store(keyOf(path), undefined)}>
          As before
        </button>
      </fieldset>
    </details>
  )
}
