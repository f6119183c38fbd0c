/** api: requests of the page to the cluster, through the console. */

/** A failed answer: upstream's Status, or what the console says when it gets none. */
export class ApiError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: unknown

  constructor(code: number, status: { message?: string; reason?: string; details?: unknown }) {
    super(status.message ?? `the server answered ${code}`)
    this.name = 'ApiError'
    this.code = code
    this.reason = status.reason ?? ''
    this.details = status.details
  }
}

export interface ApiRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
  readonly signal?: AbortSignal
}

function withQuery(url: string, query: ApiRequest['query']): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '' && value !== false) search.set(name, String(value))
  }
  return search.size === 0 ? url : `${url}?${search.toString()}`
}

/** Sends a request to the API path (`/api/v1/pods`). Throws an ApiError for a status of 400 and above. */
export async function send(path: string, request: ApiRequest = {}): Promise<Response> {
  return await sendTo(`/cluster${path}`, request)
}

/** Sends a request to the console itself (`/lab/scenarios`). Throws an ApiError for a status of 400 and above. */
export async function sendTo(url: string, request: ApiRequest = {}): Promise<Response> {
  const { method = 'GET', query, body, signal } = request
  const { contentType = 'application/json', accept = 'application/json' } = request
  const answer = await fetch(withQuery(url, query), {
    method,
    headers: {
      accept,
      'x-skiff-console': '1',
      ...(body === undefined ? {} : { 'content-type': contentType }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (answer.ok) return answer
  const text = await answer.text()
  let status: { message?: string } = { message: text.trim() }
  try {
    status = JSON.parse(text) as typeof status
  } catch {
    // The console's own refusals are text.
  }
  throw new ApiError(answer.status, status)
}

/** The answer's JSON. */
export async function read<T>(path: string, request: ApiRequest = {}): Promise<T> {
  return (await (await send(path, request)).json()) as T
}
