import { createContext, type ReactNode, useContext, useState } from 'react'
import type { Act } from '../../forms/act.ts'
import { ActDialog } from './act-dialog.tsx'

interface ActOnItem {
  readonly act: Act<unknown>
  readonly item: unknown
}

const OpenDialogContext = createContext<(chosen: ActOnItem) => void>(() => undefined)

/** Opens the dialog of an act. It stays open also when what it is about leaves the page, so that no answer is lost. */
export function useOpenDialog(): <T>(act: Act<T>, item: T) => void {
  const open = useContext(OpenDialogContext)
  return (act, item) => open({ act: act as Act<unknown>, item })
}

/** Shows the dialog that any part of the page opens. */
export function ActDialogs({ children }: { readonly children: ReactNode }): ReactNode {
  const [chosen, setChosen] = useState<ActOnItem>()
  return (
    <OpenDialogContext value={setChosen}>
      {children}
      {chosen && <ActDialog act={chosen.act} item={chosen.item} onClose={() => setChosen(undefined)} />}
    </OpenDialogContext>
  )
}
