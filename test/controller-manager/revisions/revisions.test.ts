import { describe, expect, it } from 'vitest'
import type {
  ControllerRevision,
  PodTemplateSpec,
} from '../../../components/api/generated/types.ts'
import { revisionName } from '../../../components/controller-manager/revisions/revision-control.ts'
import {
  nextRevision,
  oldestUnused,
  sortRevisions,
} from '../../../components/controller-manager/revisions/revision-order.ts'
import {
  patchHash,
  templateOf,
  templatePatch,
} from '../../../components/controller-manager/revisions/template-patch.ts'

const template: PodTemplateSpec = {
  metadata: { labels: { app: 'foo' }, annotations: { test: 'value' } },
  spec: {
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    containers: [
      {
        name: 'test',
        image: 'test',
        imagePullPolicy: 'Always',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ],
  },
}

function revisionOf(name: string, revision: number, more: object = {}): ControllerRevision {
  return { metadata: { name }, revision, ...more }
}

describe('the patch of a template', () => {
  it('is the text that Go encodes, and has the hash that upstream gives it', () => {
    const patch = templatePatch(template)
    expect(JSON.stringify(patch)).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"annotations":{"test":"value"},"creationTimestamp":null,"labels":{"app":"foo"}},' +
        '"spec":{"containers":[{"image":"test","imagePullPolicy":"Always","name":"test","resources":{},"terminationMessagePath":"/dev/termination-log",' +
        '"terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}',
    )
    // Release 1.33 of upstream names the revision of this template so.
    expect(patchHash(patch, 0)).toBe('c77f6d978')
    expect(patchHash(patch, 1)).not.toBe('c77f6d978')
  })

  it('gives the template back', () => {
    expect(templateOf({ metadata: {}, revision: 1, data: templatePatch(template) })).toEqual(
      template,
    )
  })

  it.each([undefined, null, 'text', {}, { spec: null }, { spec: { template: 1 } }])(
    'of another form gives none: %j',
    (data) => {
      expect(templateOf({ metadata: {}, revision: 1, data })).toBeUndefined()
    },
  )
})

describe('the name of a revision', () => {
  it('leaves room for the hash', () => {
    expect(revisionName('web', 'abc')).toBe('web-abc')
    expect(revisionName('x'.repeat(250), 'c77f6d978')).toHaveLength(233)
  })
})

describe('the order of revisions', () => {
  it('is by number, then by age, then by name', () => {
    const at = (creationTimestamp: string) => ({ creationTimestamp })
    const revisions = [
      revisionOf('d', 3),
      { ...revisionOf('c', 2), metadata: { name: 'c', ...at('2025-01-02T00:00:00Z') } },
      { ...revisionOf('b', 2), metadata: { name: 'b', ...at('2025-01-02T00:00:00Z') } },
      { ...revisionOf('z', 2), metadata: { name: 'z', ...at('2025-01-01T00:00:00Z') } },
    ]
    expect(sortRevisions(revisions).map(({ metadata }) => metadata.name)).toEqual([
      'z',
      'b',
      'c',
      'd',
    ])
    expect(nextRevision(revisions)).toBe(4)
    expect(nextRevision([])).toBe(1)
  })

  it('gives up the oldest that nothing uses', () => {
    const revisions = [revisionOf('c', 3), revisionOf('a', 1), revisionOf('b', 2)]
    const gone = (count: number): unknown[] =>
      oldestUnused(revisions, ({ revision }) => revision === 1, count).map(
        ({ metadata }) => metadata.name,
      )
    expect([gone(-1), gone(0), gone(1), gone(5)]).toEqual([[], [], ['b'], ['b', 'c']])
  })
})
