import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queries } from './call/use-rpc.ts'
import { applyTheme } from './parts/preferences.ts'
import { router } from './routes.tsx'

/** Shows the console in an element of the page. */
export function mount(element: HTMLElement | null): void {
  if (element === null) throw new Error('the page has no element for the console')
  applyTheme()
  createRoot(element).render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
}
