/** DeleteObject: a deletion, after a dry run and with the names of what goes with it. */
import { useEffect, useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { ApiError, send } from '../../../app/api.ts'
import { messageOf } from '../../../app/message-of.ts'
import type { Kind } from '../kinds/kinds.ts'
import { useFamily } from '../object/use-family.ts'
import { ownedBy } from '../object/family-graph.ts'
import { FaultView, type WriteFault } from './fault-view.tsx'
import { warningsOf } from '../../../parts/faults.ts'

const policies = {
  Background: 'It goes now; what it owns is deleted after it.',
  Foreground: 'What it owns is deleted first; it goes last.',
  Orphan: 'Only it goes; what it owns stays without an owner.',
} as const
type Policy = keyof typeof policies

const mostNamed = 30

export interface DeleteObjectProps {
  readonly kinds: readonly Kind[]
  readonly object: KubeObject
  readonly path: string
  readonly onLeave: () => void
}

async function remove(
  { path, object }: DeleteObjectProps,
  policy: Policy,
  isDryRun: boolean,
): Promise<string[]> {
  const { uid } = object.metadata
  const answer = await send(path, {
    method: 'DELETE',
    query: { dryRun: isDryRun ? 'All' : undefined },
    // The uid: not another object that has got the same name meanwhile.
    body: {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: policy,
      preconditions: { uid },
    },
  })
  return warningsOf(answer.headers.get('warning'))
}

function Dependents({
  kinds,
  object,
  policy,
}: Pick<DeleteObjectProps, 'kinds' | 'object'> & { readonly policy: Policy }) {
  const { members, isWhole, notRead } = useFamily(kinds, object)
  const owned = ownedBy(members, object.metadata.uid ?? '')
  const what =
    policy === 'Orphan' ? 'Stay without this owner' : 'Go with it, unless they have another owner'
  if (!isWhole) return <p class="empty">Looking for what it owns</p>
  return (
    <>
      {owned.length === 0 ? (
        <p>It owns nothing{notRead.length > 0 ? ' that you may see' : ''}.</p>
      ) : (
        <>
          <p>
            {what}: {owned.length}
          </p>
          <ul class="dependents">
            {owned.slice(0, mostNamed).map(({ uid, kind, name }) => (
              <li key={uid}>
                {kind} {name}
              </li>
            ))}
            {owned.length > mostNamed && <li>and {owned.length - mostNamed} more</li>}
          </ul>
        </>
      )}
    </>
  )
}

type Check =
  | { readonly is: 'asking' }
  | { readonly is: 'allowed'; readonly warnings: readonly string[] }
  | { readonly is: 'refused'; readonly fault: WriteFault }

export function DeleteObject(props: DeleteObjectProps) {
  const { kinds, object, onLeave } = props
  const [policy, setPolicy] = useState<Policy>('Background')
  const [check, setCheck] = useState<Check>({ is: 'asking' })
  const { name, uid } = object.metadata
  const refused = (error: unknown): void => {
    const details = error instanceof ApiError ? { details: error.details } : {}
    setCheck({ is: 'refused', fault: { message: messageOf(error), ...details } })
  }
  useEffect(() => {
    setCheck({ is: 'asking' })
    remove(props, policy, true).then((warnings) => setCheck({ is: 'allowed', warnings }), refused)
  }, [policy, uid])
  return (
    <section class="delete" aria-label="Deletion">
      <h2>
        Delete {object.kind} {name}
      </h2>
      <fieldset>
        <legend>What it owns</legend>
        {(Object.keys(policies) as Policy[]).map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="policy"
              checked={policy === one}
              onChange={() => setPolicy(one)}
            />{' '}
            <strong>{one}</strong>: {policies[one]}
          </label>
        ))}
      </fieldset>
      <Dependents kinds={kinds} object={object} policy={policy} />
      {check.is === 'refused' && <FaultView fault={check.fault} />}
      {check.is === 'allowed' && check.warnings.map((one) => <p class="note">{one}</p>)}
      <p class="actions">
        <button
          type="button"
          class="danger"
          disabled={check.is !== 'allowed'}
          onClick={() => void remove(props, policy, false).then(onLeave, refused)}
        >
          Delete
        </button>
        <button type="button" onClick={onLeave}>
          Cancel
        </button>
        <span class="empty" role="status">
          {check.is === 'asking' ? 'Asking the server' : ''}
          {check.is === 'allowed' ? 'The server would allow it.' : ''}
        </span>
      </p>
    </section>
  )
}
