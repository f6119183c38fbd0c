/** groups: full names of API groups on the cluster that the page shows; they differ by dialect. */
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { info } from './live.ts'

/** `groupNamed('networking')`. Views are shown once the cluster's dialect is known. */
export function groupNamed(stem: string): string {
  return apiGroup(dialects[info.value?.dialect ?? 'kubernetes'], stem)
}

/** Accept header for an answer as a kind of the group `meta`, such as Table. */
export function acceptAs(kind: string): string {
  return `application/json;as=${kind};g=${groupNamed('meta')};v=v1`
}
