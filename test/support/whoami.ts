/** Who the server takes a caller for: a SelfSubjectReview. */
import type { TestApiServer, Identity } from './api-server.ts'

export interface KnownUser {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** `as` may be a bare token. `user` is there when the answer is 201. */
export async function whoami(
  server: TestApiServer,
  as: Exclude<Identity, 'anonymous'> | string,
  headers: Readonly<Record<string, string | string[]>> = {},
): Promise<{ readonly status: number; readonly user?: KnownUser }> {
  const { status, body } = await server.request(
    'POST',
    `/apis/${server.group('authentication')}/v1/selfsubjectreviews`,
    { as: typeof as === 'string' ? { token: as } : as, body: {}, headers },
  )
  const found = (body as { status?: { userInfo?: KnownUser } }).status?.userInfo
  return { status, ...(status === 201 && found !== undefined ? { user: found } : {}) }
}
