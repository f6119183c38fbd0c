/** Faults that are worth a look, as the form is filled for them. */
import type { FaultKind } from '../../../../cluster/lab/fault-spec.ts'
import type { FaultValues } from './fault-fields.ts'

export interface FaultExample {
  readonly title: string
  readonly kind: FaultKind
  /** Label of the action. */
  readonly action: string
  readonly values: FaultValues
}

/** `node`: one of the cluster. */
export function faultExamples(node: string): readonly FaultExample[] {
  return [
    {
      title: 'Creates get 503',
      kind: 'requests',
      action: 'answer with a status',
      values: { 'fault.match.verbs': 'create', 'fault.action.status.code': '503', times: '3' },
    },
    {
      title: 'Answers to writes are lost',
      kind: 'requests',
      action: 'cut the connection',
      values: { 'fault.match.verbs': 'write', 'fault.action.cut': 'after', times: '1' },
    },
    {
      title: 'Watch events come late',
      kind: 'requests',
      action: 'delay events of watches',
      values: { 'fault.match.verbs': 'watch', 'fault.action.watch.delayMs': '2000' },
    },
    { title: 'The disk is full', kind: 'store', action: 'the disk is full', values: {} },
    {
      title: `${node} is cut off`,
      kind: 'network',
      action: 'cut',
      values: { 'fault.from': node, 'fault.to': 'api-server' },
    },
    {
      title: 'The scheduler freezes',
      kind: 'process',
      action: '',
      values: { 'fault.part': 'scheduler', 'fault.action': 'freeze', forMs: '30000' },
    },
    {
      title: `The clock of ${node} is behind`,
      kind: 'clock',
      action: '',
      values: { 'fault.part': node, 'fault.aheadMs': '-60000' },
    },
    {
      title: `The certificate of ${node} has expired`,
      kind: 'certificate',
      action: '',
      values: { 'fault.part': node, 'fault.is': 'expired' },
    },
    {
      title: `${node} is short of memory`,
      kind: 'node',
      action: '',
      values: { 'fault.node': node, 'fault.is': 'memory-pressure' },
    },
  ]
}
