/** Writes of pods: what a conflict says of a pod. */
import { describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import type { ResourceClient } from '../../../components/client/resource-client.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { podWrites } from '../../../components/node-agent/pods/pod-loop.ts'

const pod = { metadata: { namespace: 'default', name: 'web', uid: 'u' } } as Pod

/** Writes over a client that rejects everything. */
function writesThatFail(error: unknown) {
  const reject = () => Promise.reject(error)
  const client: Partial<ResourceClient<Pod>> = { patch: reject, delete: reject }
  return podWrites(client as ResourceClient<Pod>, async (work) => await work())
}

describe('a write of a pod', () => {
  it.each([
    ['NotFound', 'pods "web" not found'],
    ['Conflict', 'Precondition failed: UID in precondition: u, UID in object meta: v'],
    [
      'Conflict',
      'the UID in the precondition (u) does not match the UID in record (v). The object might have been deleted and then recreated',
    ],
  ] as const)(
    'is over when the pod is gone, or another has its name: %s %s',
    async (reason, message) => {
      const { writeStatus, deletePod } = writesThatFail(new StatusError(reason, message))
      expect(await writeStatus(pod, {}, undefined)).toBe('gone')
      await deletePod(pod)
    },
  )

  it('is tried again by its caller after a race that it lost', async () => {
    const lost = new StatusError('Conflict', 'the object has been modified')
    const { writeStatus, deletePod } = writesThatFail(lost)
    await expect(writeStatus(pod, {}, undefined)).rejects.toBe(lost)
    await expect(deletePod(pod)).rejects.toBe(lost)
  })

  it('takes the reason and message of a condition away that has none any more', async () => {
    const sent: unknown[] = []
    const patch: ResourceClient<Pod>['patch'] = async (_, body) => {
      sent.push(body)
      return pod
    }
    const client: Partial<ResourceClient<Pod>> = { patch }
    const { writeStatus } = podWrites(client as ResourceClient<Pod>, async (work) => await work())
    const ready = { type: 'Ready', status: 'False', reason: 'A', message: 'a' }
    const other = { type: 'Other', status: 'False', reason: 'B' }
    const known = { ...pod, status: { conditions: [ready] } }
    const conditions = [{ ...other }, { type: 'Ready', status: 'True' }]
    await writeStatus(known, { conditions }, { conditions: [other] })
    expect(sent).toEqual([
      {
        metadata: { uid: 'u' },
        status: {
          conditions: [other, { type: 'Ready', status: 'True', reason: null, message: null }],
        },
      },
    ])
  })
})
