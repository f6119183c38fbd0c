/** ResourceQuotas that are full: what is used up, and whom they refused. */
import type { Event, ResourceQuota } from '../../../components/api/generated/types.ts'
import { eventsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { usedText, usedUp } from '../quota-room.ts'
import type { Related } from '../related.ts'

/** As many objects as are shown that could not create something. */
const mostRefused = 5

/** Events about objects that could not create others, one for each object. */
function refusals({ events }: Related): Event[] {
  const byObject = new Map<string, Event>()
  for (const event of events) {
    const { kind = '', name = '' } = event.involvedObject
    if (event.reason === 'FailedCreate') byObject.set(`${kind}/${name}`, event)
  }
  return [...byObject.values()].slice(0, mostRefused)
}

function explainQuota(quota: ResourceQuota, related: Related): Finding[] {
  if (quota.status?.hard === undefined) {
    return [
      {
        cause: 'NotObserved',
        message:
          'Nothing has been counted yet; until then nothing that the quota limits can be created.',
        evidence: [seen(quota, 'status.hard is empty')],
        next: ['wait; then check that the controller manager runs: skiff status'],
      },
    ]
  }
  const { hard, used = {} } = quota.status
  const full = usedUp(quota)
  if (full.length === 0) return []
  const texts = full.map((name) => `${name} (${used[name] ?? '0'} of ${hard[name]})`)
  const refused = refusals(related).flatMap(
    ({ involvedObject: { kind = '', name = '', namespace } }) =>
      eventsSeen(related, { kind, metadata: { name, ...(namespace ? { namespace } : {}) } }, [
        'FailedCreate',
      ]).slice(0, 1),
  )
  return [
    {
      cause: 'QuotaFull',
      message: `Nothing is left of ${texts.join(', ')}; what needs more of it cannot be created.`,
      evidence: [...full.map((name) => seen(quota, usedText(quota, name))), ...refused],
      next: [
        `raise spec.hard of the quota, or delete what uses it: kubectl describe quota ${quota.metadata.name} -n ${quota.metadata.namespace}`,
      ],
    },
  ]
}

export const resourceQuota = defineExplainer<ResourceQuota>({
  needs: ({ metadata: { namespace = '' } }) => [
    { of: 'events', namespace, fieldSelector: 'reason=FailedCreate' },
  ],
  explain: explainQuota,
  state: ({ status }) => {
    const { hard = {}, used = {} } = status ?? {}
    const texts = Object.keys(hard).map((name) => `${name} ${used[name] ?? '0'} of ${hard[name]}`)
    return texts.join(', ') || 'nothing counted yet'
  },
})
