import { type ReactNode, useState } from 'react'
import { useKeys } from '../parts/keys.ts'
import { useRights } from '../parts/principal.tsx'
import type { Act } from './act.ts'
import { ActDialog } from './act-dialog.tsx'

/** The acts that this principal may do with a resource in its present state; `e` begins the first of them. */
export function ActBar<T>({ acts, item }: { readonly acts: readonly Act<T>[]; readonly item: T }): ReactNode {
  const { may } = useRights()
  const [chosen, setChosen] = useState<Act<T>>()
  const offered = acts.filter(({ rights, isOffered }) => rights.some(may) && isOffered(item))
  useKeys(offered.length === 0 ? {} : { e: () => setChosen(offered[0]) })
  return (
    <div className="acts">
      {offered.map((act) => (
        <button key={act.name} type="button" onClick={() => setChosen(act)}>
          {act.name}
        </button>
      ))}
      {chosen && <ActDialog act={chosen} item={item} onClose={() => setChosen(undefined)} />}
    </div>
  )
}
