import type { ReactNode } from 'react'
import type { Act } from '../../forms/act.ts'
import { rulesOf } from '../../forms/run-act.ts'
import { useKeys } from '../parts/keys.ts'
import { useRights } from '../parts/principal.tsx'
import { useOpenDialog } from './open-dialog.tsx'

/** The acts that this principal may do with a resource in its present state; `e` begins the first of the main ones. */
export function ActBar<T>({
  acts,
  item,
  is_main = true,
}: {
  readonly acts: readonly Act<T>[]
  readonly item: T
  /** Whether it belongs to what the page is about, not to one of many parts of it. */
  readonly is_main?: boolean
}): ReactNode {
  const { may, is_merchant } = useRights()
  const open = useOpenDialog()
  const offered = acts.filter((act) => {
    const { rights, for_merchants } = rulesOf(act)
    return rights.some(may) && (for_merchants || !is_merchant) && (act.isOffered?.(item) ?? true)
  })
  const [first] = offered
  const begin = (act: Act<T>) => () => open(act, item)
  useKeys({
    ...(is_main && first && { e: begin(first) }),
    ...Object.fromEntries(offered.flatMap((act) => (act.keys ? [[act.keys, begin(act)]] : []))),
  })
  if (offered.length === 0) return null
  return (
    <div className="acts">
      {offered.map((act) => (
        <button key={act.name} type="button" onClick={begin(act)}>
          {act.name} {act.keys && <kbd>{act.keys}</kbd>}
        </button>
      ))}
    </div>
  )
}
