/** writeObject: sends an edited object or a new manifest, as a dry run or for good. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { send } from '../../../app/api.ts'
import { warningsOf } from '../../../parts/faults.ts'

const fieldManager = 'skiff-console'

export interface Write {
  /** Path of the object. */
  readonly path: string
  /** `replace`: an object that was read, with its resourceVersion. `apply`: a manifest, by server-side apply. */
  readonly as: 'replace' | 'apply'
  readonly object: unknown
  readonly isDryRun: boolean
  /** Of an apply: takes fields from other managers. */
  readonly force?: boolean
}

export interface Written {
  readonly object: KubeObject
  readonly warnings: readonly string[]
}

/** Throws ApiErrors: 409 for a conflict. */
export async function writeObject({ path, as, object, isDryRun, force }: Write): Promise<Written> {
  const answer = await send(path, {
    method: as === 'replace' ? 'PUT' : 'PATCH',
    contentType: as === 'replace' ? 'application/json' : 'application/apply-patch+yaml',
    query: {
      fieldManager,
      fieldValidation: 'Strict',
      dryRun: isDryRun ? 'All' : undefined,
      force,
    },
    body: object,
  })
  const written = (await answer.json()) as KubeObject
  return { object: written, warnings: warningsOf(answer.headers.get('warning')) }
}
