/** revision-diff: what one write changed in its object: the object at its revision and just before. */
import { changed, fieldsOf } from '../../../../components/api/changed-fields.ts'
import type { ChangedField } from '../../../../components/api/explanations.ts'
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import type { KubeObject } from '../../../../components/machinery/objects/object.ts'
import { read } from '../../app/api.ts'

/** Where the objects of a record are listed: its path without the object's name. */
export function listPathOf({ path, resource }: Pick<RequestRecord, 'path' | 'resource'>): string {
  const parts = path.split('/')
  const at = parts.lastIndexOf(resource)
  return at < 0 ? path : parts.slice(0, at + 1).join('/')
}

async function objectAt(
  record: RequestRecord,
  revision: bigint,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const { items } = await read<{ readonly items: readonly KubeObject[] }>(listPathOf(record), {
    query: {
      fieldSelector: `metadata.name=${record.name}`,
      resourceVersion: String(revision),
      resourceVersionMatch: 'Exact',
    },
    signal,
  })
  return items[0]
}

export type RevisionDiff =
  | { readonly kind: 'created' | 'deleted' }
  | { readonly kind: 'changed'; readonly fields: readonly ChangedField[] }

/** Throws an ApiError: 410 when history has ended, 403 when the viewer may not list the resource. */
export async function readDiff(record: RequestRecord, signal: AbortSignal): Promise<RevisionDiff> {
  const revision = BigInt(record.revision ?? '0')
  const [before, after] = await Promise.all([
    objectAt(record, revision - 1n, signal),
    objectAt(record, revision, signal),
  ])
  if (after === undefined) return { kind: 'deleted' }
  if (before === undefined) return { kind: 'created' }
  return { kind: 'changed', fields: fieldsOf(changed(before, after)) }
}
