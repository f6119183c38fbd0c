/** PersistentVolumes that failed, or that were released and are not used again. */
import type { PersistentVolume } from '../../../components/api/generated/types.ts'
import { seen, warningsSeen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import type { Related } from '../related.ts'

function explainVolume(volume: PersistentVolume, related: Related): Finding[] {
  const { phase, message = '' } = volume.status ?? {}
  const { name } = volume.metadata
  const { claimRef, persistentVolumeReclaimPolicy: policy = 'Retain' } = volume.spec ?? {}
  const claim = `${claimRef?.namespace}/${claimRef?.name}`
  if (phase === 'Failed') {
    return [
      {
        cause: 'Failed',
        message: `Its storage could not be reclaimed: ${message}`,
        evidence: [
          seen(volume, `status.phase is Failed: ${message}`),
          ...warningsSeen(related, volume),
        ],
        next: ['correct what the message names; the controller tries again'],
      },
    ]
  }
  if (phase !== 'Released') return []
  return [
    {
      cause: 'Released',
      message:
        policy === 'Retain'
          ? `The claim ${claim} is gone; with the reclaim policy Retain the volume keeps its data and takes no other claim.`
          : `The claim ${claim} is gone; the volume is to be deleted (${policy}).`,
      evidence: [
        seen(volume, `status.phase is Released, spec.claimRef names ${claim}`),
        ...warningsSeen(related, volume),
      ],
      next: [
        policy === 'Retain'
          ? `to give it to another claim: kubectl patch pv ${name} --type=merge -p '{"spec":{"claimRef":null}}'`
          : 'wait, or check that its provisioner runs',
      ],
    },
  ]
}

export const persistentVolume = defineExplainer<PersistentVolume>({
  needs: (volume) => [eventsNeed(volume)],
  explain: explainVolume,
  state: ({ spec, status }) => {
    const { claimRef } = spec ?? {}
    const claim = claimRef === undefined ? '' : ` to ${claimRef.namespace}/${claimRef.name}`
    return `${status?.phase ?? 'Pending'}${status?.phase === 'Bound' ? claim : ''}`
  },
})
