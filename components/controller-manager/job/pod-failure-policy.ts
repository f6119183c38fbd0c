/** What a Job's podFailurePolicy says about a failed pod (upstream: pod_failure_policy.go; KEP-3329, KEP-3850). Pure. */
import type {
  ContainerStatus,
  JobSpec,
  Pod,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from '../../api/generated/types.ts'
import type { JobRules } from './job-rules.ts'

export interface FailureVerdict {
  /** Whether it counts towards the back-off limits. */
  readonly isCounted: boolean
  /** Of the rule that matched. */
  readonly action?: string
  /** The whole Job fails for this reason. */
  readonly jobFailure?: string
  /** The pod's index fails without another try. */
  readonly failsIndex?: boolean
}

const counted: FailureVerdict = { isCounted: true }

/** The verdict of the first rule that matches; without one, the failure counts. */
export function judgeFailure(spec: JobSpec, pod: Pod, { gates }: JobRules): FailureVerdict {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchRule(rule, pod)
    if (why === undefined) continue
    switch (rule.action) {
      case 'Ignore':
        return { isCounted: false, action: rule.action }
      case 'Count':
        return { isCounted: true, action: rule.action }
      case 'FailJob':
        return {
          isCounted: true,
          action: rule.action,
          jobFailure: `${why} matching FailJob rule at index ${index}`,
        }
      case 'FailIndex':
        if (gates.JobBackoffLimitPerIndex)
          return { isCounted: true, action: rule.action, failsIndex: true }
        break
      default:
        // An action of a later release: the rule is skipped.
        break
    }
  }
  return counted
}

/** Why the rule matches the pod; undefined when it does not. */
function matchRule({ onExitCodes, onPodConditions }: PodFailurePolicyRule, pod: Pod) {
  const { namespace, name } = pod.metadata
  if (onExitCodes !== undefined) {
    const status = failedContainer(pod, onExitCodes)
    if (status === undefined) return undefined
    const code = status.state?.terminated?.exitCode
    return `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${code}`
  }
  const condition = (pod.status?.conditions ?? []).find(({ type, status }) =>
    onPodConditions?.some((pattern) => pattern.type === type && pattern.status === status),
  )
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`
}

function failedContainer(
  { status }: Pod,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): ContainerStatus | undefined {
  const isMatch = ({ name, state }: ContainerStatus): boolean => {
    const code = state?.terminated?.exitCode ?? 0
    if (code === 0 || (containerName !== undefined && containerName !== name)) return false
    if (operator === 'In') return values.includes(code)
    return operator === 'NotIn' && !values.includes(code)
  }
  return status?.containerStatuses?.find(isMatch) ?? status?.initContainerStatuses?.find(isMatch)
}
