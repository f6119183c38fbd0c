/** NodeRule: what the Node authorizer decides about one kind, and the decisions that several kinds share. */
import type { AuthorizationAttributes } from '../request/request.ts'
import type { Decision } from './authorizer.ts'

/** Decides for a node agent; the attributes name the kind that the rule is for. */
export type NodeRule = (nodeName: string, attributes: AuthorizationAttributes) => Decision

export const allow: Decision = { decision: 'allow', reason: '' }

export function noOpinion(reason = ''): Decision {
  return { decision: 'no-opinion', reason }
}

export function unrelated(nodeName: string): Decision {
  return noOpinion(`no relationship found between node '${nodeName}' and this object`)
}

/** Whether the field selector keeps only objects of the node. */
export function selectsNode({ fieldSelector }: AuthorizationAttributes, nodeName: string): boolean {
  return (fieldSelector ?? []).some(
    ({ key, operator, values }) =>
      key === 'spec.nodeName' &&
      (operator === '=' || operator === '==' || operator === 'In') &&
      values.length === 1 &&
      values[0] === nodeName,
  )
}
