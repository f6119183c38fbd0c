/** What people read of `skiff why` about objects. */
import { expect, it } from 'vitest'
import { objectText, pendingText } from '../../../cluster/cli/why-object-text.ts'
import type { Finding, ObjectAnswer } from '../../../cluster/why/finding.ts'
import { nowMs } from './objects.ts'

const shown = { colors: false, nowMs }
const pod = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'a' }
const finding: Finding = {
  cause: 'CrashLoopBackOff',
  message: 'Container app ended.',
  evidence: [
    { source: 'object', object: pod, text: 'waits' },
    { source: 'condition', object: pod, text: 'Ready is False', time: '2026-11-22T11:55:00Z' },
    {
      source: 'event',
      object: { kind: 'Node', name: 'n1' },
      text: 'Rebooted',
      time: '2026-11-22T11:59:30Z',
      count: 3,
    },
    { source: 'scheduler', object: pod, text: '1 node' },
  ],
  next: ['read the log', 'then the rest'],
}
const answer: ObjectAnswer = {
  object: pod,
  isFine: false,
  state: 'Running, not Ready',
  findings: [finding],
  owners: [{ kind: 'ReplicaSet', namespace: 'shop', name: 'web' }],
  notRead: ['nodes: forbidden'],
}

it('an object has its state, each cause with evidence and times, the next step, and what was not read', () => {
  expect(objectText(answer, shown)).toBe(
    [
      'Pod shop/a is not as it should be: Running, not Ready',
      'owned by ReplicaSet shop/web',
      '',
      'CrashLoopBackOff: Container app ended.',
      '  - waits',
      '  - condition Ready is False (5 min ago)',
      '  - Node n1: event Rebooted (3 times, last 30.0 s ago)',
      '  - scheduler: 1 node',
      '  next: read the log',
      '        then the rest',
      '',
      'not read: nodes: forbidden',
      '',
    ].join('\n'),
  )
})

it('an object that is fine is one line', () => {
  const fine = { ...answer, isFine: true, state: 'Ready', findings: [], owners: [], notRead: [] }
  expect(objectText(fine, shown)).toBe('Pod shop/a is fine: Ready\n')
  const unread = { ...fine, notRead: ['nodes: forbidden'] }
  expect(objectText(unread, shown)).toContain('Pod shop/a is fine as far as could be read: Ready\n')
})

it('what waits is grouped, the first names are shown, and nothing is said so', () => {
  const objects = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ ...pod, name }))
  const text = pendingText({ isFine: false, groups: [{ ...finding, objects }], notRead: [] }, shown)
  expect(text).toMatch(/^6 objects: Pod shop\/a, .*Pod shop\/e and 1 more\nCrashLoopBackOff: /)
  expect(pendingText({ isFine: true, groups: [], notRead: [] }, shown)).toBe('Nothing is pending\n')
  const unread = { isFine: false, groups: [], notRead: ['pods: forbidden'] }
  expect(pendingText(unread, shown)).toBe('The pods could not be read\nnot read: pods: forbidden\n')
})

it('no text from the cluster reaches the terminal as a command', () => {
  const evil = '\u001b[2J'
  const all = {
    ...answer,
    object: { ...pod, name: evil },
    state: evil,
    findings: [
      {
        cause: evil,
        message: evil,
        next: [evil],
        evidence: [{ source: 'object' as const, object: pod, text: evil }],
      },
    ],
    owners: [{ kind: evil, name: evil }],
    notRead: [evil],
  }
  expect(objectText(all, shown)).not.toContain('\u001b')
})
