/** explain-access: whether a user may do something, each authorizer's opinion in order, and a role that would allow it. */
import type { Dialect } from '../../api/dialect.ts'
import type { AccessExplanation, Opinion } from '../../api/explanations.ts'
import type { AuthorizationModule } from '../authz/authorization.ts'
import { forbiddenError } from '../request/forbidden.ts'
import { privilegedGroup } from '../authz/union.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AuthorizationAttributes } from '../request/request.ts'
import { smallestRole } from './smallest-role.ts'

interface ExplainAccessParts {
  readonly modules: () => readonly AuthorizationModule[]
  readonly reader: ObjectReader
  readonly dialect: Dialect
}

async function opinionOf(
  { authorizer, type }: AuthorizationModule,
  attributes: AuthorizationAttributes,
): Promise<Opinion> {
  const explained = (await authorizer.explain?.(attributes)) ?? {
    decision: await authorizer.authorize(attributes),
    detail: undefined,
  }
  const { decision, reason, evaluationError } = explained.decision
  return {
    name: authorizer.name,
    type,
    opinion: decision,
    ...(reason === '' ? {} : { reason }),
    ...(evaluationError === undefined ? {} : { evaluationError }),
    ...(explained.detail === undefined ? {} : { detail: explained.detail }),
  }
}

const privilegedOpinion: Opinion = {
  name: privilegedGroup,
  type: 'PrivilegedGroup',
  opinion: 'allow',
  reason: `the group ${privilegedGroup} passes before all authorizers`,
}

/** Decides as the chain does, one authorizer after the other. */
export async function explainAccess(
  attributes: AuthorizationAttributes,
  { modules, reader, dialect }: ExplainAccessParts,
): Promise<AccessExplanation> {
  const isPrivileged = attributes.user.groups.includes(privilegedGroup)
  const opinions: Opinion[] = isPrivileged ? [privilegedOpinion] : []
  let decided = isPrivileged ? privilegedOpinion : undefined
  for (const module of modules()) {
    const { name } = module.authorizer
    const opinion: Opinion =
      decided === undefined
        ? await opinionOf(module, attributes)
        : { name, type: module.type, opinion: 'not-asked' }
    opinions.push(opinion)
    if (opinion.opinion === 'allow' || opinion.opinion === 'deny') decided = opinion
  }
  if (decided?.opinion === 'allow') return { allowed: true, attributes, authorizers: opinions }
  const reasons = opinions.flatMap(({ reason }) => reason ?? [])
  const { message } = forbiddenError(
    attributes,
    decided === undefined ? reasons.join('\n') : (decided.reason ?? ''),
  )
  // After a denial RBAC is not asked.
  const mayRbac = opinions.some(({ type, opinion }) => type === 'RBAC' && opinion === 'no-opinion')
  const wouldAllow =
    mayRbac && decided === undefined ? smallestRole(attributes, { reader, dialect }) : undefined
  return {
    allowed: false,
    message,
    attributes,
    authorizers: opinions,
    ...(wouldAllow === undefined ? {} : { wouldAllow }),
  }
}
