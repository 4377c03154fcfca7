/** The signature of a request, as clients of the account make it: of the verb, the kind of resource, its link and the date. */
import { createHmac } from 'node:crypto';

export interface Signed {
  readonly method: string;
  /** `docs`, `colls` ... and '' for the account. */
  readonly type: string;
  /** Such as `dbs/main/colls/items`, not encoded. */
  readonly link: string;
}

export function signatureOf({ method, type, link }: Signed, key: string, date: string): string {
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
  return encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
}

export function signedHeaders(
  signed: Signed,
  key: string,
  date: string = new Date().toUTCString(),
): Record<string, string> {
  return {
    authorization: signatureOf(signed, key, date),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
  };
}
